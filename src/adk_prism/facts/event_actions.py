"""What an event says besides its content: state, artifacts, transfers, sources, usage, errors.

Only non-partial events are read: partial ones share these objects with the final event, so they would
give them too early, or twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts import adk_event
from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, Part
from adk_prism.facts.outcome import is_finish
from adk_prism.facts.state import is_given
from adk_prism.log.entry import NOTHING

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
    for chunk in adk_event.read_grounding(bytes(grounding)):
        source = _source(chunk)
        if source is not None:
            yield source


def _source(chunk: adk_event.GroundingChunk) -> Source | None:
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

    def cite(self, grounding: Raw) -> Iterator[fact.SourceCited]:
        """Yield the sources that were not cited before."""
        for found in sources_in(grounding):
            if found.key not in self._ids:
                name = self._ids[found.key] = f"source-{len(self._ids) + 1}"
                yield fact.SourceCited(name, found.uri, found.title, found.document)


# ---------------------------------------------------------------------------

_EMPTY = (b"", b"{}", b"null")


def read_actions(
    event: AdkEvent,
    speaker: fact.Speaker,
    model_call: str,
    finish: str,
    sources: Sources,
    out: list[fact.Fact],
) -> None:
    """Add the facts of a non-partial event that are not in its content. `finish` is `finish_of` it."""
    _cite(event, sources, out)
    if event.actions is not None:
        _act(event.actions, speaker, out)
    if is_given(event.output):
        out.append(fact.NodeOutput(event.output, speaker))
    if _is_filled(event.custom_metadata):
        out.append(fact.MetadataGiven(event.custom_metadata))
    if finish or _is_of_model(event):
        out.append(
            fact.ModelCallEnded(
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


def read_error(event: AdkEvent, speaker: fact.Speaker, out: list[fact.Fact]) -> None:
    """Add the error of a non-partial event; it comes before the content, which it may have cut off."""
    if (event.error_code or event.error_message) and _is_error(event):
        out.append(fact.ErrorRaised(event.error_code or "", event.error_message or "", speaker))


def _is_error(event: AdkEvent) -> bool:
    """Return whether it is an error; ADK writes finish reasons into the same fields."""
    if event.error_code:
        return event.error_code != adk_event.ABORTED and not is_finish(event.error_code)
    return bool(event.error_message) and not event.finish_reason


def _cite(event: AdkEvent, sources: Sources, out: list[fact.Fact]) -> None:
    if _is_filled(event.grounding_metadata):
        out.extend(sources.cite(event.grounding_metadata))
        out.append(fact.SourcesLinked(event.grounding_metadata))
    if _is_filled(event.citation_metadata):
        out.append(fact.CitationsGiven(event.citation_metadata))


def _act(actions: adk_event.Actions, speaker: fact.Speaker, out: list[fact.Fact]) -> None:
    if actions.state_delta:
        out.append(fact.StateChanged(actions.state_delta, speaker))
    if actions.artifact_delta:
        for index, (filename, version) in enumerate(actions.artifact_delta.items()):
            out.append(fact.ArtifactSaved(filename, version, speaker, f"artifact-{index}"))
    if actions.transfer_to_agent:
        out.append(fact.AgentTransferred(actions.transfer_to_agent, actions.transfer_reason or ""))


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
# The whole text of one event: everything its author wrote in it, without thoughts.


class AgentText(Struct, frozen=True, gc=False):
    """A complete text and its author."""

    speaker: fact.Speaker
    text: str
    is_final: bool
    """The event holds no call, so the author does not continue with tools."""


def agent_text(parts: Sequence[Part], speaker: fact.Speaker) -> AgentText | None:
    """Return the text of a non-partial event's parts; None if they hold no text."""
    texts = [part.text for part in parts if part.text and not part.thought]
    if not texts:
        return None
    calls = any(part.function_call is not None for part in parts)
    return AgentText(speaker, "".join(texts), not calls)


# ---------------------------------------------------------------------------
# Pictures, files, sound and code in a part.
#
# Raw PCM is recognised by its media type, because no file player can open it. Follows the media types
# that Gemini's live API sends (`audio/pcm;rate=24000`, one channel of 16 bits).

_PCM = re.compile(r"audio/(?:pcm|l16)\b", re.IGNORECASE)
_RATE = re.compile(r"rate=(\d{1,7})")
_CHANNELS = re.compile(r"channels=(\d{1,2})")
_DEFAULT_RATE = 24000
"""What Gemini speaks in when the media type does not say."""
_BIT_DEPTH = 16

UNKNOWN_TYPE = "application/octet-stream"


class Gathered(Struct, rename="camel", frozen=True):
    """What a log says of sound that came in many pieces, or that it did not keep."""

    chunks: int
    bytes: int


class _Notes(Struct, rename="camel"):
    adk_prism: Gathered | None = None


_read_notes = msgspec.json.Decoder(_Notes).decode


def show_media(held: Part, part: str, speaker: fact.Speaker, model_call: str) -> fact.Fact | None:
    """Return the fact that shows a part's media; None if it holds none."""
    if held.inline_data is not None:
        shown = show_inline(held.inline_data, part, speaker, model_call)
        return _counted(shown, held.part_metadata) if is_given(held.part_metadata) else shown
    if held.file_data is not None:
        return show_reference(held.file_data, part, speaker, model_call)
    if is_given(held.executable_code):
        return fact.CodeShown(held.executable_code, speaker, model_call)
    if is_given(held.code_execution_result):
        return fact.CodeResultShown(held.code_execution_result, speaker, model_call)
    return None


@lru_cache(64)  # a live run has a few, and says them fifty times a second
def _pcm_form(media_type: str) -> tuple[int, int] | None:
    """Return sample rate and channels of raw sound; None for any other media."""
    if _PCM.match(media_type) is None:
        return None
    rate, channels = _RATE.search(media_type), _CHANNELS.search(media_type)
    return int(rate[1]) if rate else _DEFAULT_RATE, int(channels[1]) if channels else 1


def show_inline(
    blob: adk_event.Blob, part: str, speaker: fact.Speaker, model_call: str
) -> fact.Fact:
    """Return the fact for bytes that are in the event itself."""
    media_type = blob.mime_type or UNKNOWN_TYPE
    data = blob.data or ""
    form = _pcm_form(media_type)
    if form is not None:
        return fact.AudioHeard(data, *form, _BIT_DEPTH, speaker)
    name = blob.display_name or ""
    return fact.FileShown(media_type, data, "", name, part, speaker, model_call)


def _counted(shown: fact.Fact, notes: Raw) -> fact.Fact:
    """Say how much sound there was, where the log says so."""
    if not isinstance(shown, fact.AudioHeard):
        return shown
    try:
        noted = _read_notes(notes).adk_prism
    except msgspec.MsgspecError:
        return shown  # the app's own notes
    if noted is None:
        return shown
    return msgspec.structs.replace(shown, chunks=noted.chunks, size=noted.bytes)


def show_reference(
    file: adk_event.FileData, part: str, speaker: fact.Speaker, model_call: str
) -> fact.Fact:
    """Return the fact for a file that is stored elsewhere."""
    media_type = file.mime_type or UNKNOWN_TYPE
    uri, name = file.file_uri or "", file.display_name or ""
    return fact.FileShown(media_type, "", uri, name, part, speaker, model_call)
