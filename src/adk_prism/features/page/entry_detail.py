"""One entry seen closely: what was recorded, what it means, and what every protocol says of it.

Facts and frames depend on all that came before, so a run is read from its start, once; what was read is
kept in its written form, within bounds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.errors import BadPosition
from adk_prism.extension import installed
from adk_prism.facts.model import Fact, Nested
from adk_prism.facts.run_reader import Reader
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Entry, RunId, pack
from adk_prism.protocols.contract import Payload
from adk_prism.protocols.registry import formats
from adk_prism.runs.off_loop import feed_batch

LONGEST_TEXT = 4_000
"""Characters of one string. A person reads the beginning; the files route and the recording have it all."""
KEPT_RUNS = 4
KEPT_BYTES = 16 * 1024**2
"""Of one run: some ten thousand entries. An evicted one is read again when it is needed."""

_encode = msgspec.json.Encoder().encode


class EntryDetailReader:
    """Reads a run entry by entry."""

    def __init__(self) -> None:
        self._reader = Reader([make() for make in installed().annotators()])
        self._protocols = {format.title: format.reader() for format in formats()}

    def feed(self, entry: Entry) -> bytes:
        """Return an entry with its facts and frames, as JSON."""
        kind, payload = pack(entry.record)
        return _encode(
            {
                "cursor": entry.cursor,
                "time": entry.time,
                "type": kind,
                "record": _readable(payload),
                "facts": [_shown(fact) for fact in self._reader.feed(entry)],
                "frames": {name: self._frames(name, entry) for name in self._protocols},
            }
        )

    def _frames(self, name: str, entry: Entry) -> list[dict[str, Any]]:
        return [
            {"position": f"{entry.cursor}.{part}"} | _framed(payload)
            for part, payload in enumerate(self._protocols[name].feed(entry), 1)
        ]


def emptied(row: bytes, why: str) -> bytes:
    """Return a row that says of its entry only when it was, and why there is no more."""
    known = msgspec.json.decode(row)
    frames: dict[str, list[Any]] = {name: [] for name in known["frames"]}
    return _encode(known | {"record": {"left out": why}, "facts": [], "frames": frames})


class EntryDetails:
    """The entries of a server's runs, seen closely."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._kept: OrderedDict[RunId, _Rows] = OrderedDict()
        """The least recently used first."""

    @property
    def runs(self) -> list[RunId]:
        """The runs that are kept."""
        return list(self._kept)

    async def of(self, run: RunId, cursor: int) -> bytes:
        """Return an entry as JSON. Raise `NotFound` or `Gone` for the run, `BadPosition` for the cursor."""
        summary = await self._log.summary(run)
        if not 1 <= cursor <= summary.cursor:
            raise BadPosition(
                f"Cursor {cursor} is not in this run, which has entries 1 to {summary.cursor}."
            )
        rows = self._kept.get(run)
        if rows is None or cursor <= rows.dropped:
            rows = self._kept[run] = _Rows()
        self._kept.move_to_end(run)
        while len(self._kept) > KEPT_RUNS:
            self._kept.popitem(last=False)
        async with rows.lock:
            if cursor > rows.last:
                await rows.read(self._log, run, cursor)
        return rows.known[cursor]


class _Rows:
    """What was read of one run, the newest of it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.known: OrderedDict[int, bytes] = OrderedDict()
        self.last = self.dropped = self._size = 0
        self._lens = EntryDetailReader()

    async def read(self, log: RunLog, run: RunId, until: int) -> None:
        async with aclosing(log.read(run, self.last)) as batches:
            async for batch in batches:
                await feed_batch([entry for entry in batch if entry.cursor <= until], self._add)
                if self.last >= until:
                    return

    def _add(self, entry: Entry) -> None:
        row = self.known[entry.cursor] = self._lens.feed(entry)
        self.last = entry.cursor
        self._size += len(row)
        while self._size > KEPT_BYTES and len(self.known) > 1:
            self.dropped, oldest = self.known.popitem(last=False)
            self._size -= len(oldest)


# ------------------------------------------------------------------------------ in written form


def _framed(payload: Payload) -> dict[str, Any]:
    named = {"event": payload.event} if payload.event else {}
    return named | {"data": _readable(payload.data)}


def _shown(fact: Fact) -> dict[str, Any]:
    return {"fact": type(fact).__name__, "is": dict(_fields(fact))}


def _fields(fact: Fact) -> Iterator[tuple[str, Any]]:
    for name in fact.__struct_fields__:
        value = getattr(fact, name)
        if isinstance(fact, Nested) and name == "fact":
            yield name, _shown(fact.fact)
        elif isinstance(value, Raw):
            if bytes(value):
                yield name, _readable(bytes(value))
        elif isinstance(value, str):
            yield name, _cut(value)
        else:
            yield name, value


def _readable(payload: bytes) -> Any:
    """Return JSON with its long texts cut; anything else as text."""
    try:
        value = msgspec.json.decode(payload)
    except msgspec.MsgspecError:
        return _cut(payload.decode(errors="replace"))
    return value if len(payload) <= LONGEST_TEXT else _cut(value)


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]}… ({len(value)} characters)"
        case dict():
            return {key: _cut(each) for key, each in value.items()}
        case list():
            return [_cut(each) for each in value]
        case _:
            return value
