"""The frames of a stream of events, as bytes.

Servers write one `data:` line for each event, and most chunks of HTTP are whole events: those are only cut
apart. Everything else goes through the decoder, which knows the standard.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw

from adk_prism.errors import SourceError
from adk_prism.source.key_case import error_event, is_bare_error
from adk_prism.transport.sse_decoder import SseDecoder

_DATA, _END = b"data: ", b"\n\n"


class Frame(NamedTuple):
    """One event of a stream."""

    data: bytes
    name: str = "message"


class Frames:
    """Reads the frames of one stream."""

    def __init__(self, most_bytes: int) -> None:
        """Of one frame."""
        self._decoder = SseDecoder(most_bytes)
        self._most = most_bytes
        self._pieces: list[bytes] = []
        """Of a frame that is not complete."""
        self._size = 0
        self._is_simple = True
        """Whether lines end as they do everywhere: with LF."""
        self._rest = b""
        """Of a stream whose lines end otherwise: a line that is not complete."""
        self.has_other = False
        """Whether there was something that is no event: a page of HTML, or an event that was cut off."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that a chunk completes. Raise `SourceError` for one that is too large."""
        if not self._is_simple:
            return self._decoded(chunk)
        self._pieces.append(chunk)
        self._size += len(chunk)
        if b"\r" in chunk:
            self._is_simple = False
            return self._decoded(b"".join(self._pieces))
        is_split = len(self._pieces) > 1 and self._pieces[-2].endswith(b"\n")
        if _END in chunk or (is_split and chunk.startswith(b"\n")):
            return self._cut(b"".join(self._pieces))
        if self._size > self._most:
            raise SourceError(f"An event of the stream is larger than {self._most} bytes.")
        return []

    def finish(self) -> list[Frame]:
        """Return nothing: the standard drops a frame that the end of the stream cuts off."""
        left = b"".join(self._pieces) if self._is_simple else self._rest
        self.has_other = self.has_other or _has_other(left) or _DATA.strip() in left
        return []

    def _cut(self, data: bytes) -> list[Frame]:
        *blocks, rest = data.split(_END)
        self._pieces, self._size = [rest] if rest else [], len(rest)
        frames: list[Frame] = []
        for block in blocks:
            if _is_plain(block) and len(block) <= self._most:
                frames.append(Frame(block[len(_DATA) :]))
            else:
                frames += self._decoded(block + _END)
        return frames

    def _decoded(self, data: bytes) -> list[Frame]:
        if self._is_simple:
            self.has_other = self.has_other or _has_other(data)
        else:
            # After the last blank line: what has ended there is whole.
            *lines, self._rest = (self._rest + data).splitlines() if data else [self._rest]
            if data.endswith((b"\n", b"\r")):
                lines, self._rest = [*lines, self._rest], b""
            self.has_other = self.has_other or any(map(_has_other, lines))
        return [Frame(each.data.encode(), each.event) for each in self._decoder.feed(data)]


def _is_plain(block: bytes) -> bool:
    """Return whether a block is one line of data in UTF-8."""
    if not block.startswith(_DATA) or b"\n" in block or b"\r" in block:
        return False
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _has_other(data: bytes) -> bool:
    """Return whether there is a line that no stream of events has."""
    return any(line and not line.startswith(_FIELDS) for line in data.splitlines())


_FIELDS = (b":", b"data", b"event", b"id", b"retry")
_FIELD = b"data:"
_OTHER_FIELDS = (b":", b"event:", b"id:", b"retry:")
_read_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Lines:
    """Reads the events of one stream of Agent Engine: one to a line, as JSON or as Server-Sent Events."""

    def __init__(self, most_bytes: int) -> None:
        """Of one line."""
        self._most = most_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self.has_other = False
        """Never: a line that is no event fails."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the events that a chunk completes. Raise `SourceError` for one that is too large."""
        *lines, rest = chunk.split(b"\n")
        frames = []
        for line in lines:
            self._grow(line)
            frames += _frame(b"".join(self._pieces).strip())
            self._pieces, self._size = [], 0
        self._grow(rest)
        return frames

    def finish(self) -> list[Frame]:
        """Return the event of a last line without an end."""
        return _frame(b"".join(self._pieces).strip())

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise SourceError(f"An event of the stream is larger than {self._most} bytes.")
        if piece:
            self._pieces.append(piece)


def _frame(line: bytes) -> list[Frame]:
    if not line or line.startswith(_OTHER_FIELDS):
        return []
    data = line.removeprefix(_FIELD).strip()
    try:
        if is_bare_error(_read_fields(data)):
            return [Frame(error_event(data), "error")]
    except (msgspec.MsgspecError, RecursionError):
        pass  # Not an event either, which whoever reads it says.
    return [Frame(data)]
