"""The forms of files of events: one value a line, the body of `/run_sse`, or JSON documents.

A document is an array, a session, or pretty-printed values one after the other.

Knows nothing about the meaning of the values, and holds one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import SourceError
from adk_prism.features.captures.streams import MAX_LINE_BYTES, LineSplitter, SseDecoder, SseEvent

BOM = b"\xef\xbb\xbf"

_EXPECTED = (
    "expected a recording, JSON lines or a JSON array of ADK events, a session, "
    "or the body of /run_sse"
)

_SSE_FIELDS = (b"data:", b"id:", b"event:", b"retry:", b":")


class Item(Struct, frozen=True, gc=False):
    """One JSON value of a file."""

    where: str
    """For messages: `line 3`, `event 3`."""
    data: bytes
    is_session: bool = False
    """The fields of a session; its events follow."""
    is_error: bool = False
    """The stream calls it an error: `event: error`."""
    is_last_piece: bool = False
    """The file ended here, without a mark that the value is complete: it may be cut."""


class FileForm(Protocol):
    """Reads the values of a file of one form, which comes in pieces."""

    is_stream: bool
    """The file is the body of a response, and not a list of events that may be an excerpt."""

    def feed(self, chunk: bytes) -> Iterator[Item]:
        """Yield the values that a piece completes. Raise `SourceError` for one over the bound."""

    def finish(self) -> Iterator[Item]:
        """Yield what is left. Raise `SourceError` for a file that is cut off in a document."""


def find_form(head: bytes) -> FileForm:
    """Return the reader of a file that begins like this. Raise `SourceError` if it is of no form."""
    start = head.removeprefix(BOM).lstrip()
    if not start:
        raise SourceError(f"The file is empty; {_EXPECTED}.")
    line, line_end, _ = start.partition(b"\n")
    if line_end and _is_event_line(line):
        return _Lines()
    if start.startswith(_SSE_FIELDS):
        return _Sse()
    if start.startswith((b"[", b"{")):
        return _Documents()
    raise SourceError(f"The file starts with {start[:24]!r}; {_EXPECTED}.")


def _is_event_line(line: bytes) -> bool:
    """Return whether a line is a whole event, not a session or the first line of a pretty-printed value."""
    if not line.startswith(b"{") or b'"events"' in line:
        return False
    try:
        msgspec.json.decode(line, type=Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


class _Lines:
    is_stream = False

    def __init__(self) -> None:
        self._splitter = LineSplitter()

    def feed(self, chunk: bytes) -> Iterator[Item]:
        for line in self._splitter.feed(chunk):
            yield Item(f"line {line.number}", line.data)

    def finish(self) -> Iterator[Item]:
        for line in self._splitter.finish():
            yield Item(f"line {line.number}", line.data, is_last_piece=True)


# ---------------------------------------------------------------------------
# Split JSON documents, which arrive in pieces, into the values inside.
#
# For files that are not one value a line: an array of events (`POST /run`), a session with its list
# of events, both also pretty-printed, or values one after the other. Only brackets and strings are
# scanned; the reader of a value decides whether it is JSON. Memory holds one value, never the
# document.

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*("?)', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*")
_LIST_OF_EVENTS = re.compile(rb'"events"\s*(?::\s*(\[)?)?')
_QUOTE, _OPENING = ord('"'), b"{["
_MAX_DEPTH = 512
"""Common JSON readers stop near 1000 levels; ADK itself cannot write more than 255."""


class Value(Struct, frozen=True, gc=False):
    """One value of the document."""

    line: int
    """On which it begins, from 1."""
    data: bytes
    is_session: bool = False
    """The value holds the fields of a session before its list of events."""


class DocumentSplitter:
    """Reads one document, or several. After a `SourceError` it stays broken."""

    def __init__(self, max_value_bytes: int) -> None:
        self._max = max_value_bytes
        self._buffer = bytearray()
        """Begins with the value that is being read, if there is one."""
        self._at = 0
        """How far the buffer has been scanned."""
        self._string: int | None = None
        """Where the string begins that is not complete."""
        self._depth = 0
        self._line = 1
        self._inside: Literal["document", "array", "session", "rest of session"] = "document"

    def feed(self, chunk: bytes) -> list[Value]:
        """Return the values that `chunk` completes. Raise `SourceError` for one over a bound."""
        self._buffer += chunk
        values: list[Value] = []
        while self._read_value(values) if self._depth else self._begin_value():
            pass
        if self._inside == "rest of session":
            self._forget_rest()
        if len(self._buffer) > self._max:
            raise SourceError(
                f"The value on line {self._line} is longer than {self._max} bytes; "
                "expected ADK events of a smaller size."
            )
        return values

    def finish(self) -> None:
        """Raise `SourceError` if the document is cut off."""
        if self._buffer or self._inside != "document":
            raise SourceError(
                f"The file is truncated: the value that starts on line {self._line} has no end. "
                "Everything before it has been read."
            )

    def _forget_rest(self) -> None:
        """Drop what has been scanned: the fields of a session after its events are not used."""
        cut_string = self._string is not None
        self._drop(self._at)
        if cut_string:
            self._buffer[:0] = b'"'
            self._string, self._at = 0, 1

    def _begin_value(self) -> bool:
        """Step to the next value, into a list or out of it; return whether there was a step."""
        between = _BETWEEN.match(self._buffer)
        self._drop(between.end() if between else 0)
        first = bytes(self._buffer[:1])
        if not first:
            return False
        if first == b"{":
            self._depth = self._at = 1
        elif (step := _STEPS.get((self._inside, first))) is not None:
            self._inside = step
            self._depth = 1 if step == "rest of session" else 0
            self._drop(1)
        else:
            raise SourceError(
                f"Line {self._line} has {bytes(self._buffer[:20])!r}; expected an ADK event, "
                "a JSON object."
            )
        return True

    def _read_value(self, values: list[Value]) -> bool:
        """Look for the bracket that closes the value; return whether it, or a list, was found."""
        while (start := self._next_token()) is not None:
            first = self._buffer[start]
            if first == _QUOTE:
                if self._depth == 1 and self._inside == "document":
                    events = _LIST_OF_EVENTS.match(self._buffer, start)
                    if events is not None and events[1]:
                        self._enter_session(values, start, events.end())
                        return True
                    if events is not None and events.end() == len(self._buffer):
                        self._at = start  # What follows decides, and is not there yet.
                        return False
            elif first in _OPENING:
                self._deepen()
            else:
                self._depth -= 1
                if not self._depth:
                    self._end_value(values)
                    return True
        return False

    def _next_token(self) -> int | None:
        """Pass one bracket or one whole string; return where it begins, None without more bytes."""
        if self._string is None:
            token = _TOKEN.search(self._buffer, self._at)
            if token is None:
                self._at = len(self._buffer)
                return None
            start = token.start()
        else:
            token = _REST_OF_STRING.match(self._buffer, self._at)
            start = self._string
        self._at = token.end() if token else self._at
        cut = token is not None and self._buffer[start] == _QUOTE and not token[1]
        self._string = start if cut else None
        return None if cut else start

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SourceError(
                f"The value on line {self._line} is nested deeper than {_MAX_DEPTH} levels."
            )

    def _end_value(self, values: list[Value]) -> None:
        if self._inside == "rest of session":
            self._inside = "document"
            self._drop(self._at)
        else:
            line = self._line
            values.append(Value(line, self._drop(self._at)))

    def _enter_session(self, values: list[Value], key: int, end: int) -> None:
        about = bytes(self._buffer[:key]).rstrip().removesuffix(b",") + b"}"
        values.append(Value(self._line, about, is_session=True))
        self._inside = "session"
        self._depth = 0
        self._drop(end)

    def _drop(self, length: int) -> bytes:
        """Take bytes from the buffer's beginning."""
        taken = bytes(self._buffer[:length])
        self._line += taken.count(b"\n")
        del self._buffer[:length]
        self._at = 0
        return taken


_STEPS: Mapping[tuple[str, bytes], Literal["document", "array", "session", "rest of session"]] = {
    ("document", b"["): "array",
    ("array", b"]"): "document",
    ("session", b"]"): "rest of session",
}


# --------------------------------------------------------------------------- forms


class _Documents:
    is_stream = False

    def __init__(self) -> None:
        self._splitter = DocumentSplitter(MAX_LINE_BYTES)
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[Item]:
        piece = chunk.removeprefix(BOM) if self._is_first else chunk
        self._is_first = False
        for value in self._splitter.feed(piece):
            data = value.data
            if b"\n" in data:
                data = _on_one_line(data, value.line)
            yield Item(f"line {value.line}", data, value.is_session)

    def finish(self) -> Iterator[Item]:
        self._splitter.finish()
        return iter(())


def _on_one_line(data: bytes, line: int) -> bytes:
    try:
        return msgspec.json.format(data, indent=-1)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SourceError(f"The value on line {line} is not JSON: {error}.") from None


class _Sse:
    is_stream = True

    def __init__(self) -> None:
        self._decoder = SseDecoder()
        self._number = 0

    def feed(self, chunk: bytes) -> Iterator[Item]:
        for event in self._decoder.feed(chunk):
            self._number += 1
            yield _sse_item(event, self._number)

    def finish(self) -> Iterator[Item]:
        # An editor or a tool may have taken the last blank line away.
        for item in self.feed(b"\n\n"):
            yield msgspec.structs.replace(item, is_last_piece=True)


def _sse_item(event: SseEvent, number: int) -> Item:
    data = event.data.encode().replace(b"\n", b" ")
    return Item(f"event {number}", data, is_error=event.event == "error")
