"""Pictures, files, sound and code in a part: which it is, and the fact that shows it.

Raw PCM is recognised by its media type, because no file player can open it. Follows the media
types that Gemini's live API sends (`audio/pcm;rate=24000`, one channel of 16 bits).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts.adk_event import Blob, FileData, Part
from adk_prism.facts.model import (
    AudioHeard,
    CodeResultShown,
    CodeShown,
    Fact,
    FileShown,
    Speaker,
)
from adk_prism.facts.state import is_given

MediaKind = Literal["inline", "file", "code", "result"]

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


def media_kind(part: Part) -> MediaKind | None:
    """Tell what kind of media a part holds, if any."""
    if part.inline_data is not None:
        return "inline"
    if part.file_data is not None:
        return "file"
    if is_given(part.executable_code):
        return "code"
    if is_given(part.code_execution_result):
        return "result"
    return None


def show(held: Part, part: str, speaker: Speaker, model_call: str) -> Fact | None:
    """Return the fact that shows a part's media; None if it holds none."""
    if held.inline_data is not None:
        shown = show_inline(held.inline_data, part, speaker, model_call)
        return _counted(shown, held.part_metadata) if is_given(held.part_metadata) else shown
    if held.file_data is not None:
        return show_reference(held.file_data, part, speaker, model_call)
    if is_given(held.executable_code):
        return CodeShown(held.executable_code, speaker, model_call)
    if is_given(held.code_execution_result):
        return CodeResultShown(held.code_execution_result, speaker, model_call)
    return None


@lru_cache(64)  # a live run has a few, and says them fifty times a second
def _pcm_form(media_type: str) -> tuple[int, int] | None:
    """Return sample rate and channels of raw sound; None for any other media."""
    if _PCM.match(media_type) is None:
        return None
    rate, channels = _RATE.search(media_type), _CHANNELS.search(media_type)
    return int(rate[1]) if rate else _DEFAULT_RATE, int(channels[1]) if channels else 1


def show_inline(blob: Blob, part: str, speaker: Speaker, model_call: str) -> Fact:
    """Return the fact for bytes that are in the event itself."""
    media_type = blob.mime_type or UNKNOWN_TYPE
    data = blob.data or ""
    form = _pcm_form(media_type)
    if form is not None:
        return AudioHeard(data, *form, _BIT_DEPTH, speaker)
    name = blob.display_name or ""
    return FileShown(media_type, data, "", name, part, speaker, model_call)


def _counted(shown: Fact, notes: Raw) -> Fact:
    """Say how much sound there was, where the log says so."""
    if not isinstance(shown, AudioHeard):
        return shown
    try:
        noted = _read_notes(notes).adk_prism
    except msgspec.MsgspecError:
        return shown  # the app's own notes
    if noted is None:
        return shown
    return msgspec.structs.replace(shown, chunks=noted.chunks, size=noted.bytes)


def show_reference(file: FileData, part: str, speaker: Speaker, model_call: str) -> Fact:
    """Return the fact for a file that is stored elsewhere."""
    media_type = file.mime_type or UNKNOWN_TYPE
    uri, name = file.file_uri or "", file.display_name or ""
    return FileShown(media_type, "", uri, name, part, speaker, model_call)
