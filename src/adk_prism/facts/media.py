"""Pictures, files, sound and code in a part: which it is, and the fact that shows it.

Raw PCM is told from other sound by its media type, since no file player can open it. Follows the media
types that Gemini's live API sends (`audio/pcm;rate=24000`, one channel of 16 bits).
"""

from __future__ import annotations

import re
from typing import Literal

from adk_prism.facts.adk_event import Blob, FileData, Part
from adk_prism.facts.json_value import is_given
from adk_prism.facts.model import (
    AudioHeard,
    CodeResultShown,
    CodeShown,
    Fact,
    FileShown,
    Speaker,
)

MediaKind = Literal["inline", "file", "code", "result"]

_PCM = re.compile(r"audio/(?:pcm|l16)\b", re.IGNORECASE)
_RATE = re.compile(r"rate=(\d{1,7})")
_CHANNELS = re.compile(r"channels=(\d{1,2})")
_DEFAULT_RATE = 24000
"""What Gemini speaks in when the media type does not say."""
_BIT_DEPTH = 16

UNKNOWN_TYPE = "application/octet-stream"


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
    """Return the fact that shows a part's media; None where it holds none."""
    if held.inline_data is not None:
        return show_inline(held.inline_data, part, speaker, model_call)
    if held.file_data is not None:
        return show_reference(held.file_data, part, speaker, model_call)
    if is_given(held.executable_code):
        return CodeShown(held.executable_code, speaker, model_call)
    if is_given(held.code_execution_result):
        return CodeResultShown(held.code_execution_result, speaker, model_call)
    return None


def show_inline(blob: Blob, part: str, speaker: Speaker, model_call: str) -> Fact:
    """Return the fact for bytes that are in the event itself."""
    media_type = blob.mime_type or UNKNOWN_TYPE
    data = blob.data or ""
    if _PCM.match(media_type):
        rate, channels = _RATE.search(media_type), _CHANNELS.search(media_type)
        return AudioHeard(
            data,
            int(rate[1]) if rate else _DEFAULT_RATE,
            int(channels[1]) if channels else 1,
            _BIT_DEPTH,
            speaker,
        )
    name = blob.display_name or ""
    return FileShown(media_type, data, "", name, part, speaker, model_call)


def show_reference(file: FileData, part: str, speaker: Speaker, model_call: str) -> Fact:
    """Return the fact for a file that lies elsewhere."""
    media_type = file.mime_type or UNKNOWN_TYPE
    uri, name = file.file_uri or "", file.display_name or ""
    return FileShown(media_type, "", uri, name, part, speaker, model_call)
