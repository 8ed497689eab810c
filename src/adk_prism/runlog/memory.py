"""A run log in memory: for tests, single runs and demonstrations. It ends with the process.

Everything is committed at once, so only a full log can fail: it trims itself to its size when a run starts,
and refuses more than `max_bytes` of runs that have not ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from itertools import islice

from msgspec import structs

from adk_prism.errors import LogError
from adk_prism.runlog.contract import Census, Receipt, Retention, RunSummary, SearchPage
from adk_prism.runlog.entry import Entry, Origin, Record, RunEnded, RunId
from adk_prism.runlog.hooks import HookedLog
from adk_prism.runlog.in_memory_search import KeptDigest, keep, scan
from adk_prism.runlog.notes import OWNER_NOTES, Note, NoteOwner, by_kind_and_key, too_many
from adk_prism.runlog.pieces import SESSION_BYTES, digest, pack_piece, unpack_piece
from adk_prism.runlog.retention import MAX_TOMBSTONES, EndedRun, runs_to_trim
from adk_prism.runlog.run_digest import RunDigest
from adk_prism.runlog.run_query import RunQuery
from adk_prism.runlog.run_state import (
    READ_BATCH,
    RunState,
    already_trimmed,
    first_of,
    is_from,
    not_open,
    summary_of,
    trimmed,
    unknown,
)

MEMORY_RETENTION = Retention(max_bytes=256 * 1024**2)
"""A quarter GiB: some hundred thousand events, and no surprise for a small machine."""


class _Run(RunState):
    """A run with all its entries."""

    __slots__ = ("entries",)

    entries: list[Entry]


class _Pieces:
    """The pieces of one session."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        """By digest."""
        self.stored: dict[int, bytes] = {}
        self.bytes = 0


class MemoryLog(HookedLog):
    """Keeps runs in this process."""

    def __init__(
        self, retention: Retention = MEMORY_RETENTION, clock: Callable[[], float] = time.time
    ) -> None:
        self._retention = retention
        self._by_size = structs.replace(retention, max_age=math.inf)
        self._clock = clock
        self._open = False
        self._runs: dict[RunId, _Run] = {}
        """In the order in which they started."""
        self._tombstones: dict[RunId, None] = {}
        """In the order in which they were removed."""
        self._bytes = 0
        self._pieces: dict[Origin, _Pieces] = {}
        self._last_piece = 0
        self._notes: dict[NoteOwner, dict[tuple[str, str], Note]] = {}
        self._digests: dict[RunId, KeptDigest] = {}
        self._started = 0
        """Runs that were started so far."""

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False
        for run in self._runs.values():
            run.changed.notify()

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        began = time.perf_counter()
        self._check_open()
        head = self._runs.get(run) or self._start(run, records)
        head.admit(records, epoch)
        records, packed, times = self._packed(head, records, times)
        if self._bytes > self._retention.max_bytes:
            self._make_room(records)
        entries = head.take(records, packed, self._clock(), times)
        if not entries:
            return Receipt(head.taken)
        # A run is there once its start has been taken; one that was refused left nothing.
        if run not in self._runs:
            self._started += 1
            head.number = self._started
            self._runs[run] = head
        self._bytes += head.taken_bytes - head.bytes
        head.entries += entries
        head.commit(entries[-1], head.taken_bytes)
        head.changed.notify()
        self._observer.written(time.perf_counter() - began)
        self._observer.stored(run, entries)
        if head.outcome is not None:
            self._observer.ended(run)
        return Receipt(head.taken)

    def _start(self, run: RunId, records: Sequence[Record]) -> _Run:
        if run in self._tombstones:
            raise already_trimmed(run, records)
        head = _Run(summary_of(first_of(run, records)))
        head.entries = []
        self._trim(self._by_size, self._clock())
        return head

    def _make_room(self, records: Sequence[Record]) -> None:
        self._trim(self._by_size, self._clock())
        only_ends = len(records) == 1 and isinstance(records[0], RunEnded)
        if self._bytes > self._retention.max_bytes and not only_ends:
            raise LogError(
                f"The in-memory run log is full: {self._bytes} bytes in active runs. "
                "Use a file instead (--log sqlite:///FILE), or allow more."
            )

    async def commit(self, run: RunId) -> None:
        began = time.perf_counter()
        self._check_open()
        self._find(run)
        self._observer.committed(time.perf_counter() - began)

    async def leave(self, run: RunId) -> None:
        del run  # no other process can write

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self._check_open()
        head = self._find(run)
        head.check_position(after)
        with self._observed(run, follow=follow):
            while True:
                if head.removed:
                    raise trimmed(run)
                batch = head.entries[after : after + READ_BATCH]
                if batch:
                    yield batch
                    after = batch[-1].cursor
                elif not follow or head.outcome is not None or not self._open:
                    return
                else:
                    await head.changed.wait()

    async def put_pieces(self, run: RunId, pieces: Sequence[bytes]) -> Sequence[int]:
        self._check_open()
        head = self._find(run)
        kept = self._pieces.setdefault(head.origin, _Pieces())
        before = kept.bytes
        numbers = [self._put_piece(kept, text) for text in self._clean_pieces(pieces)]
        head.taken_bytes += kept.bytes - before
        return numbers

    def _put_piece(self, kept: _Pieces, text: bytes) -> int:
        name = digest(text)
        known = kept.numbers.get(name)
        if known is not None:
            return known
        stored = pack_piece(text)
        if kept.bytes + len(stored) > SESSION_BYTES:
            return 0
        self._last_piece += 1
        kept.numbers[name] = self._last_piece
        kept.stored[self._last_piece] = stored
        kept.bytes += len(stored)
        return self._last_piece

    async def get_pieces(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        self._check_open()
        kept = self._pieces.get(self._find(run).origin, _Pieces()).stored
        return {number: unpack_piece(kept[number]) for number in numbers if number in kept}

    async def put_note(self, owner: NoteOwner, kind: str, key: str, value: bytes) -> Note:
        self._check_open()
        note = self._clean_note(Note(kind, key, self._clock(), value))
        if not isinstance(owner, Origin):
            self._find(owner)
        kept = self._notes.get(owner, {})
        if (kind, key) not in kept and len(kept) >= OWNER_NOTES:
            raise too_many()
        self._notes[owner] = kept | {(kind, key): note}
        return note

    async def delete_note(self, owner: NoteOwner, kind: str, key: str) -> None:
        self._check_open()
        self._notes.get(owner, {}).pop((kind, key), None)

    async def notes(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        self._check_open()
        found = {owner: self._notes.get(owner, {}).values() for owner in owners}
        return {owner: by_kind_and_key(notes) for owner, notes in found.items() if notes}

    async def noted(self, kind: str) -> Sequence[Origin]:
        self._check_open()
        return [
            owner
            for owner, notes in self._notes.items()
            if isinstance(owner, Origin) and any(each == kind for each, _ in notes)
        ]

    async def summary(self, run: RunId) -> RunSummary:
        self._check_open()
        return self._find(run).summary()

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        self._check_open()
        wanted = Origin(app=app, user=user, session=session)
        return [
            head.summary()
            for head in self._runs.values()
            if is_from(head.origin, wanted) and (head.outcome is None or not unended)
        ]

    async def trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        self._check_open()
        return self._trim(retention, now)

    async def census(self, before: float) -> Census:
        self._check_open()
        ended = [head.ended for head in self._runs.values() if head.ended is not None]
        return Census(len(ended), sum(each < before for each in ended))

    async def probe(self) -> None:
        self._check_open()

    async def delete_session(self, origin: Origin) -> Sequence[RunId]:
        self._check_open()
        runs = [run for run, head in self._runs.items() if head.origin == origin]
        self._remove(runs)
        self._notes.pop(origin, None)
        return runs

    async def index(self, run: RunId, digest: RunDigest) -> None:
        self._check_open()
        head = self._runs.get(run)
        if head is not None and head.outcome is not None:
            self._digests[run] = keep(head.number, head.summary(), digest)

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        self._check_open()
        newest = reversed(self._runs.values())
        missing = (
            head.run
            for head in newest
            if head.outcome is not None and head.run not in self._digests
        )
        return list(islice(missing, limit))

    async def search(self, query: RunQuery, *, limit: int, before: int | None = None) -> SearchPage:
        self._check_open()
        kept = (self._digests[run] for run in reversed(self._runs) if run in self._digests)
        return scan(kept, query, limit, before, complete=not await self.unindexed(1))

    def _check_open(self) -> None:
        if not self._open:
            raise not_open()

    def _find(self, run: RunId) -> _Run:
        head = self._runs.get(run)
        if head is not None:
            return head
        raise trimmed(run) if run in self._tombstones else unknown(run)

    def _trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        candidates = (
            EndedRun(run, head.ended, head.bytes, head.origin)
            for run, head in self._runs.items()
            if head.ended is not None
        )
        chosen = runs_to_trim(candidates, self._bytes, retention, now)
        runs = [each.run for each in chosen]
        self._remove(runs)
        for each in chosen:
            self._observer.trimmed(each)
        return runs

    def _remove(self, runs: Sequence[RunId]) -> None:
        for run in runs:
            head = self._runs.pop(run)
            self._digests.pop(run, None)
            self._notes.pop(run, None)
            head.removed = True
            head.changed.notify()
            self._bytes -= head.bytes
            self._drop_session(head.origin)
            self._tombstones[run] = None
            if len(self._tombstones) > MAX_TOMBSTONES:
                del self._tombstones[next(iter(self._tombstones))]

    def _drop_session(self, origin: Origin) -> None:
        """Remove the pieces and notes of a session without runs."""
        kept = origin in self._pieces or origin in self._notes
        if kept and all(h.origin != origin for h in self._runs.values()):
            self._pieces.pop(origin, None)
            self._notes.pop(origin, None)
