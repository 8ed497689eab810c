"""Payloads to a Server-Sent Events stream (WHATWG HTML, "Server-sent events").

Decides the bytes of a frame on the wire and nothing of what it says. Each payload becomes one event
whose `id` is its position. What would break a frame apart cannot get into one:
- CR, LF and CRLF in a payload end a `data:` line; the client joins the lines with LF again;
- U+2028, U+2029 and U+0085 are line ends to readers that split with `str.splitlines`, so they never
  go out raw: escaped inside JSON (the same value), a line end in plain text;
- an event name or a run id with a control character is refused: it would be our own mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from adk_prism.errors import ProtocolError
from adk_prism.protocols.contract import Payload

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: without id and event, so no client's position changes."""

_LF, _CR = b"\n\r"
_E2, _C2 = b"\xe2\xc2"
"""First bytes of the separators. Numbers: `int in bytes` costs a seventh of `bytes in bytes`."""
_LS, _PS, _NEL = "\u2028".encode(), "\u2029".encode(), "\u0085".encode()
ESCAPES = {_LS: rb"\u2028", _PS: rb"\u2029", _NEL: rb"\u0085"}
SEPARATOR = re.compile(b"|".join(ESCAPES))
_LINE_END = re.compile(rb"\r\n|\r|\n")
_RUNS_AT_A_TIME = 1024
"""Prefixes kept: more runs than one process streams at once, in some hundred kilobytes."""
_JSON_STARTS = (b"{", b"[", b'"')
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


def encode(run: str, cursor: int, payloads: Sequence[Payload], first: int = 1) -> bytes:
    """Return the events of one entry's payloads, with the ids `run:cursor.first` and on.

    An empty `run` gives ids without a prefix. A stream that continues inside an entry passes the rest
    of its payloads and the number of the `first`. Raise `ProtocolError` for a run id or an event
    name that cannot be in a frame.
    """
    prefix = _prefix(run) if run else b""
    if first == 1 and len(payloads) == 1:  # most often
        [payload] = payloads
        data = payload.data
        if not payload.event and data.isascii() and _LF not in data and _CR not in data:
            return b"id: %b%d.1\ndata: %b\n\n" % (prefix, cursor, data)
    frames = []
    for part, payload in enumerate(payloads, first):
        data = payload.data
        if not data.isascii() and (_E2 in data or _C2 in data):
            data = _without_separators(data)
        if _LF in data or _CR in data:
            data = _LINE_END.sub(b"\ndata: ", data)
        name = payload.event
        if name:
            data = b"%b\ndata: %b" % (_line(name), data)
            frames.append(b"id: %b%d.%d\nevent: %b\n\n" % (prefix, cursor, part, data))
        else:
            frames.append(b"id: %b%d.%d\ndata: %b\n\n" % (prefix, cursor, part, data))
    return b"".join(frames)


@lru_cache(maxsize=_RUNS_AT_A_TIME)
def _prefix(run: str) -> bytes:
    return _line(run) + b":"


def _line(text: str) -> bytes:
    """Return an event name or a run id as bytes, if it fits on one line."""
    if not text.isprintable():
        raise ProtocolError(f"A name or id for the stream has a control character: {text[:60]!r}.")
    return text.encode()


def _without_separators(data: bytes) -> bytes:
    # `find` one by one: a regular expression takes five times as long, and curly quotation marks,
    # which begin with the same byte, are in every other sentence of a model.
    if data.find(_LS) < 0 and data.find(_PS) < 0 and data.find(_NEL) < 0:
        return data
    if _is_json(data):
        return SEPARATOR.sub(lambda match: ESCAPES[match[0]], data)
    return SEPARATOR.sub(b"\n", data)


def _is_json(data: bytes) -> bool:
    """Return whether data is JSON: there a line separator is in a string, and can be escaped."""
    if not data.startswith(_JSON_STARTS):
        return False
    try:
        _check_json(data)
    except msgspec.DecodeError:
        return False
    except RecursionError:
        # Too deep to check. No text of ours is: it is a tool's value.
        return True
    return True
