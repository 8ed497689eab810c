"""Answers that a client keeps: names of files that a browser saves, and bodies that are compressed."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Mapping
from urllib.parse import quote

from fastapi import Request, Response

# ---------------------------------------------------------------------------
# Names of files: after the conversation, on every file system.

LONGEST = 80
"""Characters; as UTF-8 with an ending, every file system takes that many."""

_UNSAFE = re.compile(r'[\\/:*?"<>|]+')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows has for devices, whatever their ending."""


def safe_name(title: str) -> str:
    """Return a title as the name of a file, without an ending; empty if nothing is left of it."""
    shown = "".join(c if c.isprintable() else " " for c in title)
    name = " ".join(_UNSAFE.sub(" ", shown).split())[:LONGEST]
    while len(name.encode()) > LONGEST * 3:
        name = name[:-1]
    name = name.strip(" .")
    return "" if _DEVICE.fullmatch(name) else name


def attachment(title: str, otherwise: str, ending: str) -> str:
    """Return a `content-disposition` (RFC 6266) that names a file after a title.

    `otherwise`, plain ASCII, is for clients that do not read the encoded form (RFC 5987), and for a title
    that is no name.
    """
    plain = f'attachment; filename="{otherwise}{ending}"'
    name = safe_name(title)
    return f"{plain}; filename*=UTF-8''{quote(name + ending, safe='')}" if name else plain


# ---------------------------------------------------------------------------
# Large responses are compressed, if the client accepts it.

SMALLEST = 1024
"""Bytes; below, the header costs more than it saves."""
LEVEL = 5
"""Of 9: nearly all of the gain in a third of the time."""


async def compressed(
    request: Request, body: bytes, media_type: str, headers: Mapping[str, str]
) -> Response:
    """Return a response whose body is gzipped where the client says that it reads that."""
    sent = dict(headers) | {"vary": "accept-encoding"}
    if len(body) >= SMALLEST and _accepts_gzip(request):
        body = await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
        sent["content-encoding"] = "gzip"
    return Response(body, media_type=media_type, headers=sent)


def _accepts_gzip(request: Request) -> bool:
    for each in request.headers.get("accept-encoding", "").split(","):
        coding, _, weight = each.partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return weight.strip().replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
