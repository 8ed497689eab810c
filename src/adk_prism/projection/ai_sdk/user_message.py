"""A user's own turn as a UI message, from the content that ADK was given."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_object
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.projection.ai_sdk.files import FileLinks

FIRST = 1
"""Cursor of the record in which a run has what the user said."""


def user_message(
    message_id: str, content: Raw, run: str = "", files: FileLinks | None = None
) -> dict[str, Any] | None:
    """Return the UI message; None where the turn did not begin with words or files.

    `files` links what is large in it to the run's file route.
    """
    if not bytes(content):
        return None
    given = enumerate(read_object(content).get("parts") or ())
    links = files or FileLinks()
    parts = [shown for at, part in given if (shown := _part(part, run, at, links)) is not None]
    return {"id": message_id, "role": "user", "parts": parts} if parts else None


def _part(part: dict[str, Any], run: str, at: int, links: FileLinks) -> dict[str, Any] | None:
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
