"""What an event says besides its content: state, artifacts, transfers, sources, usage, errors.

Only non-partial events are read: partial ones share these objects with the final event, so they would
give them too early, or twice.
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
from adk_prism.facts.tool_event import ToolEvent
from adk_prism.runlog.entry import NOTHING

_EMPTY = (b"", b"{}", b"null")


def read_actions(
    event: AdkEvent,
    speaker: Speaker,
    model_call: str,
    finish: str,
    sources: Sources,
    out: list[Fact],
) -> None:
    """Add the facts of a non-partial event that are not in its content. `finish` is `finish_of` it."""
    _cite(event, sources, out)
    if event.actions is not None:
        _act(event.actions, speaker, out)
    if is_given(event.output):
        out.append(NodeOutput(event.output, speaker))
    if _is_filled(event.custom_metadata):
        out.append(MetadataGiven(event.custom_metadata))
    if finish or _is_of_model(event):
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


def read_tool_actions(event: ToolEvent, speaker: Speaker, model_call: str, out: list[Fact]) -> None:
    """Add the facts of an event of tools that are not in its content."""
    if event.actions is not None and event.actions.state_delta:
        out.append(StateChanged(event.actions.state_delta, speaker))
    finish, usage, model = event.finish_reason, event.usage_metadata, event.model_version
    if finish or model or _is_filled(usage):
        out.append(
            ModelCallEnded(
                model_call, speaker, finish, usage, model, NOTHING, NOTHING, None, message=""
            )
        )


def read_error(event: AdkEvent, speaker: Speaker, out: list[Fact]) -> None:
    """Add the error of a non-partial event; it comes before the content, which it may have cut off."""
    if (event.error_code or event.error_message) and _is_error(event):
        out.append(ErrorRaised(event.error_code or "", event.error_message or "", speaker))


def _is_error(event: AdkEvent) -> bool:
    """Return whether it is an error; ADK writes finish reasons into the same fields."""
    if event.error_code:
        return event.error_code != ABORTED and not is_finish(event.error_code)
    return bool(event.error_message) and not event.finish_reason


def _cite(event: AdkEvent, sources: Sources, out: list[Fact]) -> None:
    if _is_filled(event.grounding_metadata):
        out.extend(sources.cite(event.grounding_metadata))
        out.append(SourcesLinked(event.grounding_metadata))
    if _is_filled(event.citation_metadata):
        out.append(CitationsGiven(event.citation_metadata))


def _act(actions: Actions, speaker: Speaker, out: list[Fact]) -> None:
    if actions.state_delta:
        out.append(StateChanged(actions.state_delta, speaker))
    if actions.artifact_delta:
        for index, (filename, version) in enumerate(actions.artifact_delta.items()):
            out.append(ArtifactSaved(filename, version, speaker, f"artifact-{index}"))
    if actions.transfer_to_agent:
        out.append(AgentTransferred(actions.transfer_to_agent, actions.transfer_reason or ""))


def _is_of_model(event: AdkEvent) -> bool:
    """Return whether a model wrote the event; those of tools and nodes have none of these fields."""
    return bool(
        event.model_version
        or event.avg_logprobs is not None
        or _is_filled(event.usage_metadata)
        or _is_filled(event.cache_metadata)
        or _is_filled(event.logprobs_result)
    )


def _is_filled(raw: Raw) -> bool:
    """Return whether an object is neither absent nor empty."""
    # Most are absent: the identity check saves copying the bytes.
    return raw is not NOTHING and bytes(raw) not in _EMPTY


def finish_of(event: AdkEvent) -> str:
    """Return the model's finish reason, which ADK may put into the error code."""
    if event.finish_reason:
        return event.finish_reason
    code = event.error_code or ""
    return code if is_finish(code) else ""
