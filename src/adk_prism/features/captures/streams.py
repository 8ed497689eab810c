"""Bytes to events and lines: Server-Sent Events streams, and JSON Lines, as peers and files have them.

Sans-io: `feed` takes bytes cut anywhere and returns what they complete. Knows nothing of what it says. Each
event and each line has a bound, so a peer or a file cannot fill the memory.
"""

from __future__ import annotations

import re

from msgspec import Struct

from adk_prism.errors import SourceError

# ---------------------------------------------------------------------------
# A Server-Sent Events stream to events, as WHATWG HTML ("Event stream interpretation") says.
#
# As the standard says, and other Python decoders do not:
# - a block without `data` is not an event, also after an `id` has been seen (keep-alives stay silent);
# - a line ends with LF, CR or CRLF and with nothing else, whatever Unicode calls a line end;
# - an event that the stream's end cuts off is dropped.

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""An ADK event with inline media is a few MiB of base64; four times that is not an event."""

_MAX_RETRY_DIGITS = 15
"""Milliseconds that stay exact in every JSON reader: thirty thousand years."""

_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class SseEvent(Struct, frozen=True, gc=False):
    """One event of the stream."""

    event: str
    """`message` when the stream names none."""
    data: str
    id: str
    """The last id of the stream so far: it stays until another one is sent."""
    retry: int | None
    """Milliseconds to wait before a new connection, if this event's block said so."""


class SseDecoder:
    """Reads one stream. After a `SourceError` it stays broken: the rest cannot be trusted."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_event_id = ""
        """What a new connection sends as `Last-Event-ID`."""
        self._max = max_event_bytes
        self._line: list[bytes] = []
        """Pieces of the line that is not complete: joined once, so that small pieces stay cheap."""
        self._after_cr = False
        self._at_start = True
        self._size = 0
        """Bytes of the block so far, the incomplete line included."""
        self._data: list[str] = []
        self._event = ""
        self._id = ""
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes. Raise `SourceError` for one over the bound."""
        if self._size > self._max:
            raise self._too_large()
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
            if not chunk:
                return []
        self._after_cr = chunk.endswith(b"\r")
        return self._read_lines(_LINE_ENDS.split(chunk))

    def _read_lines(self, pieces: list[bytes]) -> list[SseEvent]:
        rest = pieces.pop()
        events: list[SseEvent] = []
        for piece in pieces:
            self._grow(piece)
            line = b"".join(self._line)
            self._line.clear()
            if self._at_start:
                line = line.removeprefix(_BOM)
                self._at_start = False
            if line:
                self._read_field(line)
            else:
                self._dispatch(events)
        if rest:
            self._grow(rest)
        return events

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max:
            self._line.clear()
            self._data.clear()
            raise self._too_large()
        self._line.append(piece)

    def _too_large(self) -> SourceError:
        return SourceError(
            f"An event of the stream is larger than {self._max} bytes; it cannot be read further."
        )

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.decode(errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id":
            if "\0" not in value:
                self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._read_retry(value)

    def _read_retry(self, digits: str) -> None:
        if len(digits) <= _MAX_RETRY_DIGITS:
            self._retry = int(digits)

    def _dispatch(self, events: list[SseEvent]) -> None:
        self.last_event_id = self._id
        if self._data:
            data = "\n".join(self._data)
            events.append(SseEvent(self._event or "message", data, self._id, self._retry))
        self._data.clear()
        self._event = ""
        self._retry = None
        self._size = 0


# ---------------------------------------------------------------------------
# Bytes to the lines of a JSON Lines file or stream, each with its number.
#
# `finish` gives a last line that has no line end. LF ends a line (a CR before it belongs to the line end),
# blank lines are counted and left out, a byte order mark at the beginning is dropped.

MAX_LINE_BYTES = 16 * 1024 * 1024
"""An ADK event with inline media is a few MiB of base64; four times that is not an event."""


class Line(Struct, frozen=True, gc=False):
    """One line that is not blank."""

    number: int
    """From 1, as an editor counts; for error messages."""
    data: bytes


class LineSplitter:
    """Reads one file or stream. After a `SourceError` it stays broken."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._number = 0
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """Return the lines that `chunk` completes. Raise `SourceError` for one over the bound."""
        *ended, rest = chunk.split(b"\n")
        lines: list[Line] = []
        for piece in ended:
            self._grow(piece)
            self._end_line(lines)
        self._grow(rest)
        return lines

    def finish(self) -> list[Line]:
        """Return the last line, if it had no line end. The splitter is then as at its beginning."""
        lines: list[Line] = []
        self._end_line(lines)
        self._number = 0
        return lines

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max:
            self._pieces.clear()
            raise SourceError(
                f"Line {self._number + 1} is longer than {self._max} bytes; "
                "expected JSON Lines, one value on each line."
            )
        if piece:
            self._pieces.append(piece)

    def _end_line(self, lines: list[Line]) -> None:
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._number += 1
        if self._number == 1:
            data = data.removeprefix(_BOM)
        data = data.removesuffix(b"\r")
        if not data.isspace() and data:
            lines.append(Line(self._number, data))
