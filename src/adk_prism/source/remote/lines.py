"""The lines of a stream of events: what Agent Engine sends, as JSON lines or as Server-Sent Events."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from adk_prism.errors import SourceError
from adk_prism.source.key_case import error_event, is_bare_error
from adk_prism.source.remote.frames import Frame

_DATA = b"data:"
_OTHER = (b":", b"event:", b"id:", b"retry:")
_read_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Lines:
    """Reads the events of one stream, one to a line."""

    def __init__(self, most_bytes: int) -> None:
        """Of one line."""
        self._most = most_bytes
        self._pieces: list[bytes] = []
        self._size = 0

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
    if not line or line.startswith(_OTHER):
        return []
    data = line.removeprefix(_DATA).strip()
    try:
        if is_bare_error(_read_fields(data)):
            return [Frame(error_event(data), "error")]
    except (msgspec.MsgspecError, RecursionError):
        pass  # Not an event either, which whoever reads it says.
    return [Frame(data)]
