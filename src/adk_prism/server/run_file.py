"""A file that an event of a run holds, by its place in the log, never by an address a client gives.

What is in the log is served: as an attachment and never sniffed, unless a browser can show it without
running it. A reference to a store elsewhere is not followed in this version.
"""

from __future__ import annotations

import base64
import binascii
import re
from contextlib import aclosing

from fastapi import Response

from adk_prism.errors import NotBuilt, NotFound
from adk_prism.facts.adk_event import AdkEvent, Blob, FileData, read_event
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import AgentEvent, ChildEvent, RunId

_PART = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,80}/[A-Za-z0-9!#$&^_.+-]{1,80}")
_HARMLESS = re.compile(
    r"(?:image/(?:png|jpeg|gif|webp|avif)|audio/[\w.+-]+|video/[\w.+-]+|text/plain)"
)
"""Shown in place by a browser, and unable to run anything. SVG and HTML are not among them."""


async def file_response(log: RunLog, run: RunId, cursor: int, part: str) -> Response:
    """Return a part's file. Raise `NotFound`, `Gone`, or `NotBuilt` for a reference elsewhere."""
    held = _find(await _event(log, run, cursor), part)
    if isinstance(held, FileData):
        raise NotBuilt("This file lies in another store, which this version does not fetch from.")
    try:
        data = base64.b64decode((held.data or "").translate(str.maketrans("-_", "+/")) + "==")
    except binascii.Error:
        raise NotFound("The file in this part cannot be decoded.") from None
    media_type = (held.mime_type or UNKNOWN_TYPE).partition(";")[0].strip()
    if not _MEDIA_TYPE.fullmatch(media_type):
        media_type = UNKNOWN_TYPE
    inline = _HARMLESS.fullmatch(media_type) is not None
    return Response(
        data,
        media_type=media_type,
        headers={
            "content-disposition": "inline" if inline else "attachment",
            "x-content-type-options": "nosniff",
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "private, max-age=31536000, immutable",
        },
    )


async def _event(log: RunLog, run: RunId, cursor: int) -> AdkEvent:
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
            break
    raise NotFound(f"Entry {cursor} holds no event.")


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
        raise NotFound("That part holds no file.")
    return found
