"""Read the JSON values of a file, whatever form the file has.

The first line decides the form: JSON lines, an SSE body, or whole documents (an array, a session,
pretty-printed values). Knows nothing about the meaning of the values, and holds one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import BinaryIO, Literal, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from adk_prism.errors import SourceError, UsageError
from adk_prism.source.json_documents import DocumentSplitter
from adk_prism.transport.ndjson import MAX_LINE_BYTES, LineSplitter
from adk_prism.transport.sse_decoder import SseDecoder, SseEvent

Bytes = Iterable[bytes] | bytes | str | PathLike[str] | BinaryIO
"""Where a file comes from: pieces of it, all of it, its path, or an open file."""

_CHUNK = 64 * 1024
_HEAD = 64 * 1024
"""Bytes that are read to find the form; a longer first line is not an event line."""

_BOM = b"\xef\xbb\xbf"
_SSE_FIELDS = (b"data:", b"id:", b"event:", b"retry:", b":")
_EXPECTED = (
    "expected a recording, JSON lines or a JSON array of ADK events, a session, "
    "or the body of /run_sse"
)


@runtime_checkable
class _Pipe(Protocol):
    """An open file that returns what is available, so that a live stream is read as it arrives."""

    def read1(self, size: int, /) -> bytes: ...


@runtime_checkable
class _File(Protocol):
    def read(self, size: int, /) -> bytes: ...


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


class ItemReader:
    """Reads the values of a file that comes in pieces."""

    def __init__(self) -> None:
        self._head = bytearray()
        """The beginning, until the form is known."""
        self._reader: _Lines | _Documents | _Sse | None = None

    @property
    def is_stream(self) -> bool:
        """Whether the file is the body of a response, and not a list of events that may be an excerpt."""
        return isinstance(self._reader, _Sse)

    def feed(self, chunk: bytes) -> Iterator[Item]:
        """Yield the values that a piece of the file completes.

        Raise `SourceError` if the file is of no known form or has a value over the bound.
        """
        # Large pieces are split, so that values before one over the limit are returned first.
        for start in range(0, len(chunk), _CHUNK):
            piece = chunk[start : start + _CHUNK]
            if self._reader is None:
                self._head += piece
                if len(self._head) < _HEAD and b"\n" not in self._head.lstrip():
                    continue
                yield from self._begin()
            else:
                yield from self._reader.feed(piece)

    def finish(self) -> Iterator[Item]:
        """Yield what is left. Raise `SourceError` for a file that is empty or cut off in a document."""
        if self._reader is None:
            yield from self._begin()
        assert self._reader is not None
        yield from self._reader.finish()

    def _begin(self) -> Iterator[Item]:
        head = bytes(self._head)
        self._reader = _READERS[_form(head)]()
        self._head.clear()
        yield from self._reader.feed(head)


def chunks_of(source: Bytes) -> Iterator[bytes]:
    """Yield the pieces of a file. Raise `UsageError` if it cannot be opened."""
    if isinstance(source, bytes):
        yield source
    elif isinstance(source, str | PathLike):
        try:
            with open(source, "rb") as file:
                yield from iter(lambda: file.read(_CHUNK), b"")
        except OSError as error:
            raise UsageError(
                f"The file {str(source)!r} cannot be read: {error.strerror}. Pass a recording."
            ) from None
    elif isinstance(source, _Pipe):
        yield from iter(lambda: source.read1(_CHUNK), b"")
    elif isinstance(source, _File):
        yield from iter(lambda: source.read(_CHUNK), b"")
    else:
        yield from source


def _form(head: bytes) -> Literal["lines", "sse", "documents"]:
    start = head.removeprefix(_BOM).lstrip()
    if not start:
        raise SourceError(f"The file is empty; {_EXPECTED}.")
    if start.startswith(_SSE_FIELDS):
        return "sse"
    if start.startswith(b"["):
        return "documents"
    if not start.startswith(b"{"):
        raise SourceError(f"The file starts with {start[:24]!r}; {_EXPECTED}.")
    line, line_end, _ = start.partition(b"\n")
    return "lines" if line_end and _is_event_line(line) else "documents"


def _is_event_line(line: bytes) -> bool:
    """Return whether a line is a whole event, not a session or the first line of a pretty-printed value."""
    if b'"events"' in line:
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


class _Lines:
    def __init__(self) -> None:
        self._splitter = LineSplitter()

    def feed(self, chunk: bytes) -> Iterator[Item]:
        for line in self._splitter.feed(chunk):
            yield Item(f"line {line.number}", line.data)

    def finish(self) -> Iterator[Item]:
        for line in self._splitter.finish():
            yield Item(f"line {line.number}", line.data, is_last_piece=True)


class _Documents:
    def __init__(self) -> None:
        self._splitter = DocumentSplitter(MAX_LINE_BYTES)
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[Item]:
        piece = chunk.removeprefix(_BOM) if self._is_first else chunk
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


_READERS: Mapping[str, type[_Lines | _Documents | _Sse]] = {
    "lines": _Lines,
    "sse": _Sse,
    "documents": _Documents,
}
