"""Files of runs: read in every form in which ADK events are stored, written as JSON lines.

A **recording** is our own format: one entry per line, `{"cursor":1,"time":…,"type":"RunStarted",…}` first,
an event as `{"cursor":2,"time":…,"type":"AgentEvent","event":{…}}`. It is read back unchanged. A
**capture** contains plain ADK events (`events`) and is one run: its `RunStarted` is generated
and says so, its run id is a hash of its first event, and events of the user are kept. The caller passes
its end as `end`. A recording without an end was cut: its outcome is *incomplete*. So is that of a capture
that breaks off inside an event, as a connection does that is lost, and of an SSE body that ends with a
tool's answer, to which the model always replies.

Everything streams: memory is bounded by the largest value. google.adk is not imported, so a replay starts
at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import BinaryIO, Protocol, runtime_checkable

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import SourceError, UsageError
from adk_prism.facts.adk_event import Content, read_event
from adk_prism.features.captures import events
from adk_prism.features.captures.file_forms import FileForm, Item, find_form
from adk_prism.log import entry as records
from adk_prism.version import VERSION

Bytes = Iterable[bytes] | bytes | str | PathLike[str] | BinaryIO
"""Where a file comes from: pieces of it, all of it, its path, or an open file."""

_CHUNK = 64 * 1024
_HEAD = 64 * 1024
"""Bytes that are read to find the form; a longer first line is not an event line."""


@runtime_checkable
class _Pipe(Protocol):
    """An open file that returns what is available, so that a live stream is read as it arrives."""

    def read1(self, size: int, /) -> bytes: ...


@runtime_checkable
class _File(Protocol):
    def read(self, size: int, /) -> bytes: ...


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


# ------------------------------------------------------------------------------ runs


class Ending(Protocol):
    """Folds how a capture ended."""

    def feed(self, entry: records.Entry) -> None:
        """Take the next entry."""

    def ended(self) -> records.RunEnded:
        """Return the run's end, after its last entry."""


class _Line(Struct, gc=False):
    """What the lines of a recording have in common."""

    cursor: int
    time: float
    type: str
    event: Raw = records.NOTHING


_read_said = msgspec.json.Decoder(Content, strict=False).decode
_read_line = msgspec.json.Decoder(_Line).decode

_RECORDING_KEYS = frozenset({"cursor", "time", "type"})

_RELEASE = re.compile(r"(\d{1,6})\.(\d{1,6})")

_GOES_ON: tuple[records.Outcome, ...] = ("finished", "waiting")
"""Ends that cannot be, if another event had begun."""


class RunReader:
    """Reads a recording or a capture that comes in pieces."""

    def __init__(self, *, end: Ending | None = None, origin: records.Origin | None = None) -> None:
        """`end` computes the end of a run that has none; without it the last entry is the last event.

        `origin` replaces the origin that a capture names.
        """
        self._end = end
        self._origin = origin
        self._head = bytearray()
        """The beginning of the file, until its form is known."""
        self._form: FileForm | None = None
        self._reader: _Recording | events.EventCapture | None = None
        self._last: records.Entry | None = None
        self._is_ours = False
        """It was recorded by us, and not read from a capture."""
        self._is_cut = False
        """It is a capture that breaks off inside an event."""

    def feed(self, chunk: bytes) -> Iterator[records.Entry]:
        """Yield the entries that a piece completes. Raise `SourceError`, naming what cannot be read."""
        # Large pieces are split, so that values before one over the limit are returned first.
        for start in range(0, len(chunk), _CHUNK):
            piece = chunk[start : start + _CHUNK]
            if self._form is None:
                self._head += piece
                if len(self._head) < _HEAD and b"\n" not in self._head.lstrip():
                    continue
                yield from self._begin()
            else:
                yield from self._read(self._form.feed(piece))

    def _begin(self) -> Iterator[records.Entry]:
        head = bytes(self._head)
        self._form = find_form(head)
        self._head.clear()
        yield from self._read(self._form.feed(head))

    def finish(self) -> Iterator[records.Entry]:
        """Yield what is left, and the end. Raise `SourceError`; then there is no end."""
        if self._form is None:
            yield from self._begin()
        assert self._form is not None
        yield from self._read(self._form.finish())
        last = self._last
        if last is None:
            raise SourceError("The file contains no events.")
        if self._end is not None and not isinstance(last.record, records.RunEnded):
            # We always record an end: if it is missing, entries before it may be missing too.
            ended = records.RunEnded(outcome="incomplete") if self._is_ours else self._end.ended()
            if self._was_lost(ended):
                ended = records.RunEnded(outcome="incomplete")
            yield records.Entry(last.cursor + 1, last.time, ended)

    def _was_lost(self, ended: records.RunEnded) -> bool:
        """Return whether the connection that a capture holds was lost before the run ended."""
        if self._is_cut:
            return ended.outcome in _GOES_ON
        reader, is_stream = self._reader, self._form is not None and self._form.is_stream
        is_reply_due = not isinstance(reader, _Recording | None) and reader.is_reply_due
        return ended.outcome == "finished" and is_stream and is_reply_due

    def _read(self, items: Iterable[Item]) -> Iterator[records.Entry]:
        for item in items:
            yield from self._read_item(item)

    def _read_item(self, item: Item) -> Iterator[records.Entry]:
        if self._reader is None:
            # The first value decides whether this is a recording or a capture.
            is_ours = not item.is_error and events.keys_of(item).keys() >= _RECORDING_KEYS
            self._reader = _Recording() if is_ours else events.EventCapture(self._origin)
        elif (
            self._end is not None and not isinstance(self._reader, _Recording) and _breaks_off(item)
        ):
            self._is_cut = True
            return
        for entry in self._reader.feed(item):
            if self._end is not None:
                self._end.feed(entry)
            if isinstance(entry.record, records.RunStarted):
                self._is_ours = not records.DERIVED.read(entry.record)
            self._last = entry
            yield entry


def read_run(
    source: Bytes, *, end: Ending | None = None, origin: records.Origin | None = None
) -> Iterator[records.Entry]:
    """Yield the entries of a recording or a capture; `end` and `origin` as `RunReader` takes them.

    Raise `SourceError` at the first value that cannot be read, naming it, with everything before it
    given; then there is no end.
    """
    reader = RunReader(end=end, origin=origin)
    for chunk in chunks_of(source):
        yield from reader.feed(chunk)
    yield from reader.finish()


def read_part(data: bytes) -> Iterator[records.Entry]:
    """Yield the entries of a piece of a recording: some lines that follow each other, from any cursor.

    Raise `SourceError` at the first line that cannot be read, naming it.
    """
    cursor = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        item = Item(f"line {number}", line)
        cursor = cursor + 1 if cursor else max(1, _first_cursor(item))
        entry = _entry(item, cursor)
        if isinstance(entry.record, records.RunStarted):
            _check_start(entry.record)
        yield entry


def _first_cursor(item: Item) -> int:
    try:
        return _read_line(item.data).cursor
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise events.unreadable(item, error, "an entry of a recording") from None


def write_run(entries: Iterable[records.Entry]) -> Iterator[bytes]:
    """Yield a recording, one line per entry."""
    for entry in entries:
        kind, payload = records.pack(entry.record)
        if kind == records.EVENT:
            payload = b'{"type":"AgentEvent","event":' + payload + b"}"
        if b"\n" in payload:
            payload = msgspec.json.format(payload, indent=-1)
        time = msgspec.json.encode(entry.time)
        yield b'{"cursor":%d,"time":%b,%b\n' % (entry.cursor, time, payload[1:])


# ------------------------------------------------------------------------------ recordings


class _Recording:
    """Reads the entries of our own file."""

    def __init__(self) -> None:
        self._cursor = 0
        self._is_over = False

    def feed(self, item: Item) -> list[records.Entry]:
        """Return the entry of a line."""
        if self._is_over:
            raise SourceError(f"The entry on {item.where} comes after the end of the run.")
        self._cursor += 1
        entry = _entry(item, self._cursor)
        if isinstance(entry.record, records.RunStarted):
            _check_start(entry.record)
        self._is_over = isinstance(entry.record, records.RunEnded)
        return [entry]


def _check_start(head: records.RunStarted) -> None:
    records.check_labels(head)
    _check_version(records.WRITTEN_BY.read(head))


def _check_version(version: str) -> None:
    """Refuse a recording of a newer release: this one might misread it."""
    if _release(version) > _release(VERSION):
        raise SourceError(
            f"The recording was written by adk-prism {version[:40]}, newer than this {VERSION}."
            " Update adk-prism."
        )


def _release(version: str) -> tuple[int, ...]:
    """Return the first two numbers, which change with the format; nothing for what is not a version."""
    found = _RELEASE.match(version)
    return tuple(map(int, found.groups())) if found else ()


def _entry(item: Item, cursor: int) -> records.Entry:
    try:
        events.check_text(item.data)
        line = _read_line(item.data)
        record = _record(line, item.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, SourceError) as error:
        raise events.unreadable(item, error, "an entry of a recording") from None
    if line.cursor != cursor:
        raise SourceError(
            f"The entry on {item.where} has cursor {line.cursor}; expected {cursor}. "
            "Entries of a recording are numbered from 1 without gaps."
        )
    if isinstance(record, records.RunStarted) != (cursor == 1):
        raise SourceError(
            f"The entry on {item.where} is {line.type[:40]!r}; a recording starts with RunStarted, "
            "and has only one."
        )
    if not 0 <= line.time <= events.LATEST:
        raise SourceError(f"The entry on {item.where} has an invalid time: {line.time:g}.")
    return records.Entry(cursor, line.time, record)


def _record(line: _Line, data: bytes) -> records.Record:
    if line.type != records.EVENT:
        record = records.unpack(line.type, data)
        if isinstance(record, records.RunStarted) and not records.is_absent(record.message):
            _read_said(record.message)
        if isinstance(record, records.ModelCalled):
            return msgspec.structs.replace(record, pieces=None)  # those of another log
        return record
    event = bytes(line.event)
    read_event(event)
    return records.AgentEvent(event)


# ------------------------------------------------------------------------------ captures


def _breaks_off(item: Item) -> bool:
    """Return whether this is the last value, and only its beginning."""
    if not item.is_last_piece:
        return False
    try:
        events.read_keys(events.sound(item.data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return str(error).endswith(("truncated", "unexpected end of data"))
    return False
