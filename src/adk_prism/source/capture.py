"""A file's bytes to the JSON values in it, whatever form the file has.

Decides the form from its first line: JSON lines, an SSE body, or whole documents (an array, a
session, pretty-printed values). Knows nothing of what the values say, and holds one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
"""How much may be looked at to know the form; a longer first line is no line of text deltas."""

_BOM = b"\xef\xbb\xbf"
_SSE_FIELDS = (b"data:", b"id:", b"event:", b"retry:", b":")
_EXPECTED = (
    "expected a recording, JSON lines or a JSON array of ADK events, a session, "
    "or the body of /run_sse"
)


@runtime_checkable
class _Pipe(Protocol):
    """An open file that gives what there is, so that a live stream is read as it comes."""

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
    """What a session says of itself; its events follow."""
    is_last_piece: bool = False
    """The file ended without saying that this value does: it may be cut."""


def read_items(source: Bytes) -> Iterator[Item]:
    """Yield the values of a file in their order.

    Raise `UsageError` if it cannot be opened and `SourceError` if it is empty, of no known form, cut
    off in the middle of a document, or has a value over the bound.
    """
    chunks = _sliced(_chunks(source))
    head = bytearray()
    for chunk in chunks:
        head += chunk
        if len(head) >= _HEAD or b"\n" in head.lstrip():
            break
    yield from _READERS[_form(bytes(head))](_rejoined(bytes(head), chunks))


def _chunks(source: Bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
    elif isinstance(source, str | PathLike):
        try:
            with open(source, "rb") as file:
                yield from iter(lambda: file.read(_CHUNK), b"")
        except OSError as error:
            raise UsageError(
                f"The file {str(source)!r} cannot be read: {error.strerror}. Name a recording."
            ) from None
    elif isinstance(source, _Pipe):
        yield from iter(lambda: source.read1(_CHUNK), b"")
    elif isinstance(source, _File):
        yield from iter(lambda: source.read(_CHUNK), b"")
    else:
        yield from source


def _sliced(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut large pieces, so that what comes before a value over the bound is given first."""
    for chunk in chunks:
        for start in range(0, len(chunk), _CHUNK):
            yield chunk[start : start + _CHUNK]


def _rejoined(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from rest


def _form(head: bytes) -> Literal["lines", "sse", "documents"]:
    start = head.removeprefix(_BOM).lstrip()
    if not start:
        raise SourceError(f"The file is empty; {_EXPECTED}.")
    if start.startswith(_SSE_FIELDS):
        return "sse"
    if start.startswith(b"["):
        return "documents"
    if not start.startswith(b"{"):
        raise SourceError(f"The file begins with {start[:24]!r}; {_EXPECTED}.")
    line, line_end, _ = start.partition(b"\n")
    return "lines" if line_end and _is_event_line(line) else "documents"


def _is_event_line(line: bytes) -> bool:
    """Tell a whole value on one line from the first line of a pretty-printed one, and a session."""
    if b'"events"' in line:
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _read_lines(chunks: Iterator[bytes]) -> Iterator[Item]:
    splitter = LineSplitter()
    for chunk in chunks:
        for line in splitter.feed(chunk):
            yield Item(f"line {line.number}", line.data)
    for line in splitter.finish():
        yield Item(f"line {line.number}", line.data, is_last_piece=True)


def _read_documents(chunks: Iterator[bytes]) -> Iterator[Item]:
    splitter = DocumentSplitter(MAX_LINE_BYTES)
    first = True
    for chunk in chunks:
        for value in splitter.feed(chunk.removeprefix(_BOM) if first else chunk):
            data = value.data
            if b"\n" in data:
                data = _on_one_line(data, value.line)
            yield Item(f"line {value.line}", data, value.is_session)
        first = False
    splitter.finish()


def _on_one_line(data: bytes, line: int) -> bytes:
    try:
        return msgspec.json.format(data, indent=-1)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SourceError(f"The value on line {line} is not JSON: {error}.") from None


def _read_sse(chunks: Iterator[bytes]) -> Iterator[Item]:
    decoder = SseDecoder()
    number = 0
    for chunk in chunks:
        for event in decoder.feed(chunk):
            number += 1
            yield _sse_item(event, number)
    # An editor or a tool may have taken the last blank line away.
    for event in decoder.feed(b"\n\n"):
        number += 1
        yield msgspec.structs.replace(_sse_item(event, number), is_last_piece=True)


def _sse_item(event: SseEvent, number: int) -> Item:
    data = event.data.encode()
    return Item(f"event {number}", data.replace(b"\n", b" "))


_READERS = {"lines": _read_lines, "sse": _read_sse, "documents": _read_documents}
