"""The content of a user's AG-UI message as genai parts.

Content is a string, or a list of parts: text, and image, audio, video and document with a source (`data`,
`url`, or `file` for a handle that a model provider issued). Clients before 0.0.47 send `binary` instead.
Whether a file may be used is decided where files are known; a link stays a reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adk_prism.errors import Unprocessable
from adk_prism.facts.media import UNKNOWN_TYPE

Json = dict[str, Any]

MEDIA = ("image", "audio", "video", "document")


def genai_parts(content: Any) -> list[Json]:
    """Return the parts of a user's content. Raise `Unprocessable` for content that is neither form."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    if not isinstance(content, list):
        raise Unprocessable("A user message's `content` must be a string or a list of parts.")
    return [_part(part) for part in content]


def _part(part: Any) -> Json:
    if not isinstance(part, dict):
        raise Unprocessable("A part of a message's `content` must be an object with a `type`.")
    kind = part.get("type")
    if kind == "text":
        if not isinstance(part.get("text"), str):
            raise Unprocessable("A text part must have `text`, a string.")
        return {"text": part["text"]}
    if kind == "binary":
        return _binary(part)
    if kind in MEDIA:
        return _media(part)
    raise Unprocessable(
        f"A part's `type` must be text, {', '.join(MEDIA)} or binary, got {str(kind)[:40]!r}."
    )


def _media(part: Json) -> Json:
    source = part.get("source")
    read = _SOURCES.get(str(source.get("type"))) if isinstance(source, dict) else None
    if not isinstance(source, dict) or read is None or not _text(source, "value"):
        raise Unprocessable(
            "A media part must have a `source`: {type: data, url or file; value; mimeType}."
        )
    media_type = _text(source, "mimeType") or UNKNOWN_TYPE
    return read(_text(source, "value"), media_type, _named(part))


def _binary(part: Json) -> Json:
    media_type = _text(part, "mimeType") or UNKNOWN_TYPE
    if data := _text(part, "data"):
        return _inline(data, media_type, _named(part))
    if url := _text(part, "url"):
        return _link(url, media_type, _named(part))
    raise Unprocessable("A binary part must have `data` or `url`; an `id` alone names no file.")


def _inline(data: str, media_type: str, named: Json) -> Json:
    if data.startswith("data:"):
        return _link(data, media_type, named)
    return {"inlineData": {"mimeType": media_type, "data": data, **named}}


def _link(url: str, media_type: str, named: Json) -> Json:
    if not url.startswith("data:"):
        return {"fileData": {"fileUri": url, "mimeType": media_type, **named}}
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise Unprocessable("The data URL of a media part must be base64-encoded.")
    told = head.removeprefix("data:").removesuffix(";base64").partition(";")[0]
    return {"inlineData": {"mimeType": told or media_type, "data": data, **named}}


_SOURCES: dict[str, Callable[[str, str, Json], Json]] = {
    "data": _inline,
    "url": _link,
    "file": _link,
}


def _named(part: Json) -> Json:
    """Return the name of a part's file: a field of old parts, metadata of new ones."""
    metadata = part.get("metadata")
    told = _text(metadata, "filename") if isinstance(metadata, dict) else ""
    name = told or _text(part, "filename")
    return {"displayName": name} if name else {}


def _text(holder: Json, key: str) -> str:
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"`{key}` of a part must be a string.")
    return value or ""
