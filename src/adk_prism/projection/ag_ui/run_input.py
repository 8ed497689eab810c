"""What the user sent to begin a run, as AG-UI's input: by it a client that comes back knows the question.

Small files are in it, large ones are linked to the run's file route; a reference stays as it is.
"""

from __future__ import annotations

from adk_prism.facts.json_value import read_object
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.projection.ag_ui.frame_size import fits, too_large
from adk_prism.projection.ag_ui.frames import Json
from adk_prism.projection.file_links import INLINE_LIMIT, FileLinks, plain_base64
from adk_prism.runlog.entry import NOTHING, RunStarted

FIRST = 1
"""Cursor of the record in which a run has what the user said."""

_KINDS = ("image", "audio", "video")


def run_input(head: RunStarted, files: FileLinks) -> Json:
    """Return the input of a run: its thread, and the message that began it."""
    message = user_message(head.message_id or f"{head.run}-user", head, files)
    return {
        "threadId": head.origin.session,
        "runId": run_id(head),
        "messages": [message] if message else [],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


def run_id(head: RunStarted) -> str:
    """Return the id under which a client knows a run: its own, where it gave one."""
    return head.client_run or head.run


def parent_run(head: RunStarted) -> str:
    """Return the run that a run goes on with; empty where the client knows that one by a name of its own."""
    return head.continues.message if head.continues and not head.client_run else ""


def user_message(message_id: str, head: RunStarted, files: FileLinks) -> Json | None:
    """Return what the user sent as a message; None where it was neither words nor files."""
    given = read_object(head.message).get("parts") if bytes(head.message) else ()
    parts = [
        shown
        for at, part in enumerate(given if isinstance(given, list) else ())
        if isinstance(part, dict) and (shown := _part(part, head.run, at, files)) is not None
    ]
    if not parts:
        return None
    texts = [part["text"] for part in parts if part["type"] == "text"]
    content = "".join(texts) if len(texts) == len(parts) else parts
    message: Json = {"id": message_id, "role": "user", "content": content}
    metadata = read_object(head.extras.get("metadata", NOTHING))
    return {**message, "metadata": metadata} if metadata else message


def _part(part: Json, run: str, at: int, files: FileLinks) -> Json | None:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    blob, file = part.get("inlineData"), part.get("fileData")
    held = blob or file
    if not isinstance(held, dict):
        return None
    media_type = str(held.get("mimeType") or UNKNOWN_TYPE)
    kind = media_type.partition("/")[0]
    shown: Json = {"type": kind if kind in _KINDS else "document"}
    data = str(held.get("data") or "") if blob else ""
    if not fits(len(data)) and not files.base:
        return {"type": "text", "text": too_large(len(data) * 3 // 4)}
    if blob and not (files.base and len(data) > INLINE_LIMIT):
        shown["source"] = {"type": "data", "value": plain_base64(data), "mimeType": media_type}
    else:
        uri = str(held.get("fileUri") or "")
        link = uri or files.url(run, FIRST, str(at), media_type, data, "")
        shown["source"] = {"type": "url", "value": link, "mimeType": media_type}
    if held.get("displayName"):
        shown["metadata"] = {"filename": held["displayName"]}
    return shown
