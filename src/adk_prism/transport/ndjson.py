"""Bytes to the lines of a JSON Lines file or stream, each with its number.

Sans-io: `feed` takes bytes cut anywhere, `finish` gives a last line that has no line end. Decides
what a line is and nothing of what it says: LF ends a line (a CR before it belongs to the line end),
blank lines are counted and left out, a byte order mark at the beginning is dropped. A line has a
bound, so that a file that is not JSON Lines cannot fill the memory.
"""

from __future__ import annotations

from msgspec import Struct

from adk_prism.errors import SourceError

MAX_LINE_BYTES = 16 * 1024 * 1024
"""An ADK event with inline media is a few MiB of base64; four times that is not an event."""

_BOM = b"\xef\xbb\xbf"


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
