"""What an event says besides its content: state, artifacts, transfers, sources, usage, errors.

Only non-partial events are read: partial ones share these objects with the final event, so they would
give them too early, or twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Raw, Struct

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import (
    ABORTED,
    Actions,
    AdkEvent,
    GroundingChunk,
    Part,
    read_grounding,
)
from adk_prism.facts.deltas import ToolEvent
from adk_prism.facts.model import (
    AgentTransferred,
    ArtifactSaved,
    CitationsGiven,
    ErrorRaised,
    Fact,
    MetadataGiven,
    ModelCallEnded,
    NodeOutput,
    SourceCited,
    SourcesLinked,
    Speaker,
    StateChanged,
)
from adk_prism.facts.outcome import is_finish
from adk_prism.facts.state import is_given, read_object
from adk_prism.log.entry import NOTHING, Agent, ModelCalled

# ---------------------------------------------------------------------------
# Sources behind an answer, read from a model call's grounding metadata.
#
# Each source is cited once in a run, under an id counted in order of first appearance. A web page, a
# map place or an image page is a link; a piece of a document store is a document.


class Source(Struct, frozen=True):
    """Where something is from."""

    uri: str
    title: str
    """Its address, if it has no title."""
    document: bool

    @property
    def key(self) -> str:
        """What identifies it."""
        return self.uri or self.title


def sources_in(grounding: Raw) -> Iterator[Source]:
    """Yield the sources of a model call's grounding metadata; one may come several times."""
    for chunk in read_grounding(bytes(grounding)):
        source = _source(chunk)
        if source is not None:
            yield source


def _source(chunk: GroundingChunk) -> Source | None:
    found = chunk.web or chunk.maps or chunk.image or chunk.retrieved_context
    if found is None:
        return None
    uri = found.uri or found.source_uri or found.image_uri or ""
    title = found.title or found.document_name or uri
    if not title:
        return None
    return Source(uri, title, found is chunk.retrieved_context or not uri)


class Sources:
    """The sources of one run."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def cite(self, grounding: Raw) -> Iterator[SourceCited]:
        """Yield the sources that were not cited before."""
        for found in sources_in(grounding):
            if found.key not in self._ids:
                name = self._ids[found.key] = f"source-{len(self._ids) + 1}"
                yield SourceCited(name, found.uri, found.title, found.document)


# ---------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------
# Tokens by kind, from the usage metadata that models report.

_KINDS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "reasoning": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
"""`cached` tokens are part of `input`; the total is that of the model."""


def token_usage(usage: Raw) -> dict[str, int]:
    """Return the counts of a model call; a kind that was not reported is left out."""
    given = read_object(usage)
    return {
        kind: count
        for kind, name in _KINDS.items()
        if type(count := given.get(name)) is int and count >= 0
    }


# ---------------------------------------------------------------------------
# What the model calls of a run used: model, tokens by kind, time. As measured, else as events say.
#
# A source that sees requests records each call (`ModelCalled`). Of other runs, such as captures,
# events tell (`ModelCallEnded`): without the time, and with the model that the agent declares, else
# the one that answered.


class ModelUse(Struct, frozen=True, kw_only=True):
    """One call of a model, or several."""

    agent: str
    model: str
    tokens: Mapping[str, int]
    """By kind; empty: the model did not report any."""
    calls: int = 1
    duration: int = 0
    """Milliseconds."""
    first_token: int | None = None
    is_failed: bool = False


def measured(call: ModelCalled | fact.ModelCalled) -> ModelUse:
    """Return the use of a call that was recorded."""
    return ModelUse(
        agent=call.agent,
        model=call.model,
        tokens=token_usage(call.usage),
        duration=call.duration,
        first_token=call.first_token,
        is_failed=bool(call.error),
    )


class DeclaredModels:
    """The models that the agents of a run declare."""

    def __init__(self) -> None:
        self._models: dict[str, str] = {}

    def feed(self, agents: Iterable[Agent]) -> None:
        """Read the agents of a run."""
        self._models = {agent.name: agent.model for agent in agents if agent.model}

    def told(self, ended: fact.ModelCallEnded) -> ModelUse:
        """Return the use of a call of which events tell."""
        agent = ended.speaker.author
        model = self._models.get(agent) or ended.model
        return ModelUse(agent=agent, model=model, tokens=token_usage(ended.usage))


class UseFold:
    """Reads the model calls of one run."""

    def __init__(self) -> None:
        self._declared = DeclaredModels()
        self._measured: list[ModelUse] = []
        self._told: list[ModelUse] = []

    @property
    def calls(self) -> list[ModelUse]:
        """The calls so far: as measured, if any was."""
        return self._measured or self._told

    def feed(self, item: Fact) -> None:
        """Read a fact."""
        match item:
            case fact.RunBegan():
                self._declared.feed(item.agents)
            case fact.ModelCalled():
                self._measured.append(measured(item))
            case fact.ModelCallEnded() if bytes(item.usage):
                self._told.append(self._declared.told(item))
            case fact.Nested():
                self.feed(item.fact)
            case _:
                pass  # uses no model


# ---------------------------------------------------------------------------
# The whole text of one event: everything its author wrote in it, without thoughts.


class AgentText(Struct, frozen=True, gc=False):
    """A complete text and its author."""

    speaker: Speaker
    text: str
    is_final: bool
    """The event holds no call, so the author does not continue with tools."""


def agent_text(parts: Sequence[Part], speaker: Speaker) -> AgentText | None:
    """Return the text of a non-partial event's parts; None if they hold no text."""
    texts = [part.text for part in parts if part.text and not part.thought]
    if not texts:
        return None
    calls = any(part.function_call is not None for part in parts)
    return AgentText(speaker, "".join(texts), not calls)
