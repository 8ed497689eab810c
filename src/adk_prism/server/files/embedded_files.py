"""What an entry of the log holds at one of its parts: bytes, or a reference to a file elsewhere."""

from __future__ import annotations

import base64
import binascii
import re
from contextlib import aclosing

from msgspec import Struct

from adk_prism.errors import NotFound
from adk_prism.facts.adk_event import AdkEvent, Blob, FileData, read_event
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import AgentEvent, ChildEvent, RunId, RunStarted, is_absent

_SAVED = re.compile(r"artifact-(\d{1,6})")
_PART = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_STANDARD = str.maketrans("-_", "+/")


class HeldBytes(Struct, frozen=True):
    """A file that is in the event itself."""

    data: bytes
    media_type: str
    name: str


class Reference(Struct, frozen=True):
    """A file that is stored elsewhere."""

    uri: str
    media_type: str
    name: str
    is_users: bool = False
    """A user named it, and no agent."""


class Saved(Struct, frozen=True):
    """A version of an artifact that the event says was saved."""

    name: str
    version: int


async def held_file(
    log: RunLog, run: RunId, cursor: int, part: str
) -> HeldBytes | Reference | Saved:
    """Return what a part holds. Raise `NotFound` where there is none, `Gone` for a trimmed entry."""
    event = await _event(log, run, cursor)
    if (match := _SAVED.fullmatch(part)) is not None:
        return _saved(event, int(match[1]))
    found = _find(event, part)
    media_type, name = found.mime_type or "", found.display_name or ""
    if isinstance(found, FileData):
        return Reference(found.file_uri or "", media_type, name, event.author == "user")
    try:
        data = base64.b64decode((found.data or "").translate(_STANDARD) + "==")
    except binascii.Error:
        raise NotFound("The file in this part cannot be decoded.") from None
    return HeldBytes(data, media_type, name)


async def _event(log: RunLog, run: RunId, cursor: int) -> AdkEvent:
    """Return the event of an entry; of a run's first entry, what the user said as one."""
    last = (await log.summary(run)).cursor
    if not 1 <= cursor <= last:
        raise NotFound(f"The run has no entry {cursor}.")
    async with aclosing(log.read(run, cursor - 1)) as batches:
        async for batch in batches:
            record = batch[0].record
            if isinstance(record, AgentEvent):
                return read_event(record.event)
            if isinstance(record, ChildEvent):
                return read_event(bytes(record.event))
            if isinstance(record, RunStarted) and not is_absent(record.message):
                return read_event(b'{"author":"user","content":%s}' % bytes(record.message))
            break
    raise NotFound(f"Entry {cursor} is not an event.")


def _saved(event: AdkEvent, index: int) -> Saved:
    saved = list(event.actions.artifact_delta.items()) if event.actions else []
    if index >= len(saved):
        raise NotFound("The event did not save this artifact.")
    return Saved(*saved[index])


def _find(event: AdkEvent, part: str) -> Blob | FileData:
    match = _PART.fullmatch(part)
    parts = (event.content.parts if event.content else None) or []
    if match is None or int(match[1]) >= len(parts):
        raise NotFound("The event has no such part.")
    outer = parts[int(match[1])]
    if match[2] is None:
        found = outer.inline_data or outer.file_data
    else:
        inner = (outer.function_response.parts if outer.function_response else None) or []
        index = int(match[2])
        found = (inner[index].inline_data or inner[index].file_data) if index < len(inner) else None
    if found is None:
        raise NotFound("That part is not a file.")
    return found
