"""A user's own turn as a UI message, from the content that ADK was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_object
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.projection.ai_sdk.files import FileLinks
from adk_prism.runlog.entry import Response, is_absent


def user_message(
    message_id: str, content: Raw, responses: Mapping[str, Response] | None = None
) -> dict[str, Any] | None:
    """Return the UI message; None where the turn did not begin with words, files or answers."""
    if not bytes(content):
        return None
    tree = read_object(content)
    parts = [shown for part in tree.get("parts") or () if (shown := _part(part)) is not None]
    parts += [_answer(name, given) for name, given in (responses or {}).items() if not given.typed]
    return {"id": message_id, "role": "user", "parts": parts} if parts else None


def _answer(name: str, given: Response) -> dict[str, Any]:
    """Return the part with which the client answered; a credential is a secret, and not in it."""
    data: dict[str, Any] = {"id": name}
    if given.decision is not None:
        payload = given.decision.payload
        data = {"approvalId": name, "payload": None if is_absent(payload) else payload}
    elif not is_absent(given.response):
        data["response"] = given.response
    return {"type": f"data-{given.kind}-response", "data": data}


def _part(part: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    blob, file = part.get("inlineData"), part.get("fileData")
    held = blob or file
    if not held:
        return None
    media_type = held.get("mimeType") or UNKNOWN_TYPE
    if blob:
        # Inline, whatever its size: it is what the client itself sent.
        url = FileLinks().url("", 0, "", media_type, blob.get("data") or "", "")
    else:
        url = held.get("fileUri") or ""
    shown = {"type": "file", "mediaType": media_type, "url": url}
    filename = held.get("displayName")
    return {**shown, "filename": filename} if filename else shown
