"""A run log in one SQLite file: the embedded default, for one process.

`append` only gives records their places and returns; everything that gathered since the last commit is
committed in one transaction (group commit), and then the event loop hands the committed entries to the
run's followers from memory. What may wait for the disk is done in a thread. Only who is behind that
reads the file, in another thread. A reader is never given what is not committed.

What a commit promises (the file is in WAL mode):
- `synchronous="normal"`: survives a crash or kill -9 of the process; a power loss may take the last
  moments, and never anything but the end of the log;
- `synchronous="full"`: survives a power loss too, at the price of a disk flush for each group.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec import Struct

from adk_prism.errors import Gone, LogError, NotFound
from adk_prism.runlog.contract import Census, Receipt, Retention, RunSummary
from adk_prism.runlog.entry import Entry, Origin, Record, RunEnded, RunId
from adk_prism.runlog.hooks import HookedLog
from adk_prism.runlog.recent_entries import TAIL_BYTES, BufferedRun
from adk_prism.runlog.retention import runs_to_trim
from adk_prism.runlog.run_state import (
    already_trimmed,
    failed,
    first_of,
    is_from,
    not_open,
    summary_of,
    trimmed,
)
from adk_prism.runlog.sqlite import queries
from adk_prism.runlog.sqlite.file import DatabaseFile, Synchronous, prepare
from adk_prism.runlog.sqlite.file_lock import FileLock
from adk_prism.runlog.sqlite.group_commit import GroupCommit
from adk_prism.runlog.sqlite.reader import SqliteReader
from adk_prism.runlog.sqlite.writer import (
    STORE_ERRORS,
    AppendBatch,
    AppendResults,
    Group,
    Probe,
    Removal,
    reason_of,
)

LEAST_FREE = 16 * 1024**2
"""Bytes that the disk must have left to take new work: what runs already may write for a while."""

FAILED_SECONDS = 15.0
"""After a failed write the log counts as one that takes nothing, for longer than between two usual probes: a
disk can refuse entries and still take the page of a probe."""


class _Parts(Struct):
    """What an open log holds."""

    lock: FileLock
    reader: SqliteReader
    commits: GroupCommit
    closing: bool = False
    """What was appended is being committed; nothing more is taken."""


class _Opened(Struct, frozen=True):
    """What opening the file found."""

    file: DatabaseFile
    lock: FileLock
    writing: sqlite3.Connection
    reading: sqlite3.Connection
    unended: Sequence[queries.StoredRun]
    number: int


class SqliteLog(HookedLog):
    """Keeps runs in a file. Every run without an end is in memory; the others are in the file."""

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: Synchronous = "normal",
        tail_bytes: int = TAIL_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path)
        self._synchronous = synchronous
        self._tail_bytes = tail_bytes
        self._clock = clock
        self._parts: _Parts | None = None
        """None while the log is closed."""
        self._live: dict[RunId, BufferedRun] = {}
        self._number = 0
        """Of the run that started last."""
        self._failed_at: float | None = None
        """When something could last not be written, by the clock that nobody sets."""

    # ----------------------------------------------------------------------- opening and closing

    async def open(self) -> None:
        if self._parts is not None:
            raise LogError("The run log is open already.")
        try:
            opened = await asyncio.to_thread(_open, self._path.absolute(), self._synchronous)
        except STORE_ERRORS as error:
            raise LogError(f"The run log cannot be opened: {reason_of(error)}.") from error
        self._number = opened.number
        self._live = {found.summary.run: self._new_run(found) for found in opened.unended}
        self._parts = _Parts(
            opened.lock,
            SqliteReader(opened.file, opened.reading),
            GroupCommit(opened.file, opened.writing, self._settle, self._wake_all),
        )

    async def close(self) -> None:
        parts = self._parts
        if parts is None or parts.closing:
            return
        parts.closing = True
        waiting = [live for live in self._live.values() if live.taken > live.committed]
        await parts.commits.stop()
        self._parts = None
        self._wake_all()
        await parts.reader.close()
        parts.lock.release()
        for live in waiting:
            if live.failure:
                raise failed(live.run, live.failure)

    def _wake_all(self) -> None:
        for run in self._live.values():
            run.changed.notify()

    def _usable(self) -> _Parts:
        """Return the parts of a log that takes appends and questions."""
        parts = self._parts
        if parts is None or parts.closing:
            raise not_open()
        if parts.commits.dead:
            raise LogError("The run log's writer has stopped. Restart the process.")
        return parts

    # ----------------------------------------------------------------------- writing

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        began = time.perf_counter()
        commits = self._usable().commits
        if commits.is_full:
            await commits.room()
            self._usable()
        live = self._live.get(run)
        if live is None:
            live = await self._start(run, records)
            self._usable()
        records, packed = self._packed(records)
        owner = live.epoch
        self._admit(live, records, epoch)
        before = live.taken_bytes
        now = self._clock()
        entries = live.take(records, packed, now, times)
        if entries:
            self._live[run] = live
            size = live.taken_bytes
            commits.put(
                AppendBatch(live, entries, packed, size, size - before, epoch, epoch > owner, now)
            )
        self._observer.appended(time.perf_counter() - began)
        return Receipt(live.taken)

    def _admit(self, live: BufferedRun, records: Sequence[Record], epoch: int) -> None:
        try:
            live.admit(records, epoch)
        except LogError:
            # A start that could not be stored is told to every append; the last one clears it away.
            if live.failure and not live.committed and isinstance(records[-1], RunEnded):
                del self._live[live.run]
            raise

    async def _start(self, run: RunId, records: Sequence[Record]) -> BufferedRun:
        """Return a head for a run that is not in memory: a new one, or one that has ended."""
        try:
            return await self._load(run)
        except NotFound:
            start = first_of(run, records)
        except Gone as error:
            raise already_trimmed(run, records) from error
        # Another append may have started the run while this one looked for it.
        return self._live.get(run) or self._new_run(
            queries.StoredRun(self._next_number(), summary_of(start))
        )

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _new_run(self, found: queries.StoredRun) -> BufferedRun:
        return BufferedRun(found.summary, found.number, self._tail_bytes)

    def _settle(self, group: Group, results: AppendResults) -> None:
        """Take the writer's answer: show what is committed, note what failed, wake who waits."""
        touched: dict[BufferedRun, None] = {}
        for change, reason in zip(group, results, strict=True):
            if not isinstance(change, AppendBatch):
                change.settle(reason)
                continue
            touched[change.run] = None
            if reason:
                change.run.fail(reason)
                self._failed_at = time.monotonic()
            else:
                change.run.commit(change.entries[-1], change.bytes)
                change.run.tail.add(change.entries, change.packed)
        for live in touched:
            if live.outcome is not None and self._live.get(live.run) is live:
                del self._live[live.run]
            live.changed.notify()
        broken = {live for live in touched if live.failure}
        if broken and self._parts is not None:
            self._parts.commits.discard(broken)

    async def commit(self, run: RunId) -> None:
        began = time.perf_counter()
        commits = self._usable().commits
        live = self._live.get(run) or await self._load(run)
        wanted = live.taken
        while True:
            self._check_alive(live)
            if live.committed >= wanted:
                break
            commits.hurry()
            await live.changed.wait()
        self._observer.committed(time.perf_counter() - began)

    async def leave(self, run: RunId) -> None:
        del run  # nobody else can write

    # ----------------------------------------------------------------------- reading

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self._usable()
        live = self._live.get(run) or await self._load(run)
        live.check_position(after)
        last = live.committed
        with self._observed(run, follow=follow):
            while True:
                if follow:
                    last = live.committed
                if after < last:
                    batch = live.tail.since(after) or await self._fetch(live, after, last, follow)
                    if not batch:
                        return
                    yield batch
                    after = batch[-1].cursor
                elif not follow or live.outcome is not None or self._parts is None:
                    return
                else:
                    self._check_alive(live)
                    await live.changed.wait()

    async def _fetch(
        self, live: BufferedRun, after: int, last: int, follow: bool
    ) -> Sequence[Entry]:
        """Return a batch from the file; none when a follower's log has closed meanwhile."""
        if self._parts is None:
            if follow:
                return ()
            raise not_open()
        batch = await self._parts.reader.ask(queries.read_entries, live.number, after, last)
        if not batch:
            raise trimmed(live.run)
        return batch

    def _check_alive(self, live: BufferedRun) -> None:
        """Raise what keeps a run from going on."""
        if live.removed:
            raise trimmed(live.run)
        if live.failure:
            raise failed(live.run, live.failure)
        if self._parts is not None and not self._parts.closing:
            self._usable()

    async def _load(self, run: RunId) -> BufferedRun:
        """Return the head of a run that is not in memory; raise `NotFound` or `Gone`."""
        found = await self._usable().reader.ask(queries.find_run, run)
        live = self._live.get(run)
        if live is not None:
            return live
        # Every run that has no end is in memory, unless it is just being deleted.
        if found.summary.outcome is None:
            raise trimmed(run)
        return self._new_run(found)

    async def summary(self, run: RunId) -> RunSummary:
        self._usable()
        live = self._live.get(run) or await self._load(run)
        if not live.committed:
            self._check_alive(live)
        return live.summary()

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        found = await self._select(Origin(app=app, user=user, session=session), unended)
        return [live.summary() for live in found]

    async def _select(self, wanted: Origin, unended: bool = False) -> Sequence[BufferedRun]:
        reader = self._usable().reader
        # Memory first: a run that ends while the file is read is then in one of them at least.
        runs = {live.run: live for live in self._live.values() if is_from(live.origin, wanted)}
        if not unended:
            for found in await reader.ask(queries.ended_runs, wanted):
                runs.setdefault(found.summary.run, self._new_run(found))
        kept = (
            live
            for live in runs.values()
            if not live.removed and (live.committed or not live.failure)
        )
        return sorted(kept, key=lambda live: live.number)

    # ----------------------------------------------------------------------- removing

    async def trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        candidates = await self._usable().reader.ask(queries.trim_candidates)
        going_on = sum(live.bytes for live in self._live.values())
        total = going_on + sum(run.bytes for run in candidates)
        runs = runs_to_trim(candidates, total, retention, now)
        # One by one: appends get their turn between the removals of long runs.
        for run in runs:
            await self._remove([run])
        return runs

    async def census(self, before: float) -> Census:
        return await self._usable().reader.ask(queries.count_runs, before)

    async def probe(self) -> None:
        usable = self._usable()
        if self._failed_at is not None and time.monotonic() - self._failed_at < FAILED_SECONDS:
            raise LogError("The run log could not be written a moment ago.")
        if await asyncio.to_thread(_free_bytes, self._path) < LEAST_FREE:
            raise LogError("The disk of the run log is full.")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        usable.commits.put(Probe(partial(_resolve, done, "The run log cannot be written")))
        await done

    async def delete_session(self, origin: Origin) -> Sequence[RunId]:
        found = await self._select(origin)
        # An empty string in an origin is a name here, and no wildcard.
        runs = [live.run for live in found if live.origin == origin]
        for run in runs:
            live = self._live.pop(run, None)
            if live is not None:
                live.removed = True
                live.changed.notify()
        await self._remove(runs)
        return runs

    async def _remove(self, runs: Sequence[RunId]) -> None:
        """Remove runs from the file. Who stops waiting for it does not stop it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._usable().commits.put(
            Removal(runs, partial(_resolve, done, "A run could not be removed"))
        )
        await done


def _free_bytes(path: Path) -> int:
    return shutil.disk_usage(path.parent).free


def _resolve(done: asyncio.Future[None], what: str, reason: str) -> None:
    if done.done():
        return
    if reason:
        done.set_exception(LogError(f"{what}: {reason}."))
    else:
        done.set_result(None)


def _open(path: Path, synchronous: Synchronous) -> _Opened:
    """Open the file, for this process alone, and see what is in it."""
    file = DatabaseFile(path, synchronous)
    file.create()
    with ExitStack() as undo:
        lock = FileLock(f"{path}.lock")
        undo.callback(lock.release)
        writing = file.connect()
        undo.callback(writing.close)
        prepare(writing)
        reading = file.connect()
        undo.callback(reading.close)
        opened = _Opened(
            file=file,
            lock=lock,
            writing=writing,
            reading=reading,
            unended=queries.unended_runs(writing),
            number=queries.highest_number(writing),
        )
        undo.pop_all()
    return opened
