"""What an event says besides its content: changes, sources, usage, errors.

Read from non-partial events only: partial ones share these objects with the final event, so they
show them too early, or twice.
"""

from __future__ import annotations

from msgspec import Raw

from adk_prism.facts.adk_event import ABORTED, Actions, AdkEvent
from adk_prism.facts.json_value import is_given
from adk_prism.facts.model import (
    AgentTransferred,
    ArtifactSaved,
    CitationsGiven,
    ErrorRaised,
    Fact,
    MetadataGiven,
    ModelCallEnded,
    NodeOutput,
    SourcesLinked,
    Speaker,
    StateChanged,
)
from adk_prism.facts.outcome import is_finish
from adk_prism.facts.sources import Sources
from adk_prism.runlog.entry import NOTHING

_EMPTY = (b"", b"{}", b"null")


def read_actions(
    event: AdkEvent, speaker: Speaker, model_call: str, sources: Sources, out: list[Fact]
) -> None:
    """Add the facts of a non-partial event that are not in its content."""
    _cite(event, sources, out)
    if event.actions is not None:
        _act(event.actions, speaker, out)
    if is_given(event.output):
        out.append(NodeOutput(event.output, speaker))
    if _tells(event.custom_metadata):
        out.append(MetadataGiven(event.custom_metadata))
    _end_model_call(event, speaker, model_call, out)


def read_error(event: AdkEvent, speaker: Speaker, out: list[Fact]) -> None:
    """Add the error of a non-partial event: before its content, which may be cut by it."""
    if _is_error(event):
        out.append(ErrorRaised(event.error_code or "", event.error_message or "", speaker))


def _is_error(event: AdkEvent) -> bool:
    """Tell an error from a model's reason to stop, which ADK writes into the same fields."""
    if event.error_code:
        return event.error_code != ABORTED and not is_finish(event.error_code)
    return bool(event.error_message) and not event.finish_reason


def _cite(event: AdkEvent, sources: Sources, out: list[Fact]) -> None:
    if _tells(event.grounding_metadata):
        out.extend(sources.cite(event.grounding_metadata))
        out.append(SourcesLinked(event.grounding_metadata))
    if _tells(event.citation_metadata):
        out.append(CitationsGiven(event.citation_metadata))


def _act(actions: Actions, speaker: Speaker, out: list[Fact]) -> None:
    if actions.state_delta:
        out.append(StateChanged(actions.state_delta, speaker))
    for index, (filename, version) in enumerate(actions.artifact_delta.items()):
        out.append(ArtifactSaved(filename, version, speaker, f"artifact-{index}"))
    if actions.transfer_to_agent:
        out.append(AgentTransferred(actions.transfer_to_agent, actions.transfer_reason or ""))


def _end_model_call(event: AdkEvent, speaker: Speaker, model_call: str, out: list[Fact]) -> None:
    finish = finish_of(event)
    if finish or _is_of_a_model(event):
        out.append(
            ModelCallEnded(
                model_call,
                speaker,
                finish,
                event.usage_metadata,
                event.model_version or "",
                event.cache_metadata,
                event.logprobs_result,
                event.avg_logprobs,
                (event.error_message or "") if finish else "",
            )
        )


def _is_of_a_model(event: AdkEvent) -> bool:
    """Tell a model's own event from those of tools and nodes, which know nothing of a model."""
    return bool(
        event.model_version
        or event.avg_logprobs is not None
        or _tells(event.usage_metadata)
        or _tells(event.cache_metadata)
        or _tells(event.logprobs_result)
    )


def _tells(raw: Raw) -> bool:
    """Tell an object that says something from one that is absent or empty."""
    # Most are absent: the look at the object itself saves copying its bytes.
    return raw is not NOTHING and bytes(raw) not in _EMPTY


def finish_of(event: AdkEvent) -> str:
    """Return the model's reason to stop; ADK may put it into the error code."""
    if event.finish_reason:
        return event.finish_reason
    code = event.error_code or ""
    return code if is_finish(code) else ""
