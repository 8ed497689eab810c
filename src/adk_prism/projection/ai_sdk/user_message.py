"""A user's own turn as UI messages, from how its run began.

The content is what ADK was given. What the client sent for its own use comes back as it was: metadata, data
parts at their places, and the system messages before it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_object, read_value
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.projection.file_links import FileLinks
from adk_prism.runlog.entry import Response, RunStarted, is_absent

Json = dict[str, Any]

FIRST = 1
"""Cursor of the record in which a run has what the user said."""


def milliseconds(time: float) -> int:
    """Return a log's time as `metadata.createdAt` has it: since 1970, as JavaScript counts."""
    return round(time * 1000)


def user_messages(message_id: str, head: RunStarted, time: float, files: FileLinks) -> list[Json]:
    """Return what the user's client sent to begin a run; nothing where it was neither words nor files.

    `files` links what is large in it to the run's file route.
    """
    parts = _parts(head.message, head.run, files)
    extras = {name: read_value(value) for name, value in head.extras.items()}
    for kept in extras.get("parts", ()):
        parts.insert(kept["at"], kept["part"])
    parts += [_answer(name, given) for name, given in head.responses.items() if not given.typed]
    if not parts:
        return []
    shown = {"id": message_id, "role": "user", "parts": parts}
    return [*extras.get("system", ()), _dated(shown, extras.get("metadata"), time)]


def user_message(message_id: str, content: Raw, time: float = 0.0) -> Json | None:
    """Return a content as a UI message; None where it has neither words nor files."""
    parts = _parts(content, "", FileLinks())
    return _dated({"id": message_id, "role": "user", "parts": parts}, None, time) if parts else None


def _parts(content: Raw, run: str, files: FileLinks) -> list[Json]:
    tree = read_object(content) if bytes(content) else {}
    given = enumerate(tree.get("parts") or ())
    return [shown for at, part in given if (shown := _part(part, run, at, files)) is not None]


def _dated(message: Json, metadata: Any, time: float) -> Json:
    """Add what the client said of a message, and when it came, if the client did not say when."""
    if metadata is None:
        metadata = {}
    if isinstance(metadata, dict) and time > 0:
        metadata = {"createdAt": milliseconds(time), **metadata}
    return {**message, "metadata": metadata} if metadata else message


def _answer(name: str, given: Response) -> dict[str, Any]:
    """Return the part with which the client answered; a credential is a secret, and not in it."""
    data: dict[str, Any] = {"id": name}
    if given.decision is not None:
        payload = given.decision.payload
        data = {"approvalId": name, "payload": None if is_absent(payload) else payload}
    elif not is_absent(given.response):
        data["response"] = given.response
    return {"type": f"data-{given.kind}-response", "data": data}


def _part(part: Json, run: str, at: int, links: FileLinks) -> Json | None:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    blob, file = part.get("inlineData"), part.get("fileData")
    held = blob or file
    if not held:
        return None
    media_type = held.get("mimeType") or UNKNOWN_TYPE
    if blob:
        url = links.url(run, FIRST, str(at), media_type, blob.get("data") or "", "")
    else:
        url = held.get("fileUri") or ""
    shown = {"type": "file", "mediaType": media_type, "url": url}
    filename = held.get("displayName")
    return {**shown, "filename": filename} if filename else shown
