"""Runs in one SQLite file, for one process.

A group that the system takes at once, the deltas of some milliseconds, is written in the event loop. A
thread writes what may take long: large groups, removals, a file that is locked, and every group where a
commit waits for the disk. The loop writes because the interpreter's lock makes a thread expensive: a busy
loop gives the lock back for microseconds, and a waiting thread needs it five times for a group and loses
most races for it. Measured on a run at full speed beside other busy processes: 4 groups a second in a thread,
of up to 0.6 s, against 70 and a tenth less CPU time in the loop.

Checkpoints always wait for the disk. They have their own thread and connection, so no commit waits for one.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from adk_prism.errors import LogError
from adk_prism.log.buffered_log import BufferedLog
from adk_prism.log.contract import EndedRun, Owner, RunSummary, SideValue, too_many
from adk_prism.log.entry import Entry, Origin, RunId
from adk_prism.log.group_commit import OK, AppendResult, FollowedRun, Group, StoredRun
from adk_prism.log.run_state import BufferedRun, not_open, trimmed
from adk_prism.log.sqlite import file as database
from adk_prism.log.sqlite import queries

QUICK_BYTES = 256 * 1024
"""A group up to this size is written in the event loop: less than a millisecond."""

CHECKPOINT_BYTES = 4 * 1024 * 1024
"""The journal is written back to the file after about this much: SQLite's own default."""

_GROUP_BYTES = 12 * 1024
"""What a group puts into the journal besides its payloads: the pages that it shares with the last."""

_CHANGE_BYTES = 16 * 1024
"""What a change beside the runs puts there, about."""

LEAST_FREE = 16 * 1024**2
"""Bytes that the disk must have free to take new work: runs that are active may write for a while."""

FAILED_SECONDS = 15.0
"""For so long after a failed write the log counts as unavailable, which is longer than between two usual
probes: a disk can refuse entries and still take the page of a probe."""


class _Opened(Struct, frozen=True):
    """What opening the file gave."""

    file: database.DatabaseFile
    lock: database.FileLock
    writing: sqlite3.Connection
    reading: sqlite3.Connection
    checkpointing: sqlite3.Connection
    unended: Sequence[StoredRun]
    number: int


class SqliteStore:
    """Is a `LogStore`."""

    is_shared = False

    def __init__(
        self, path: Path, synchronous: database.Synchronous, warn: Callable[[str], None]
    ) -> None:
        self.path = path
        self.side = SqliteSide(self)
        self._warn = warn
        self.synchronous: database.Synchronous = synchronous
        self._opened: _Opened | None = None
        self._number = 0
        """Of the run that started last."""
        self._busy = 0
        """Jobs of the writing thread: while it has one, only that thread uses the connection."""
        self._journal = 0
        """Bytes in the journal, about."""
        self._failed_at: float | None = None
        """When a write last failed, by the monotonic clock."""

    async def open(self) -> Sequence[StoredRun]:
        try:
            opened = await asyncio.to_thread(_open, self.path, self.synchronous, self._warn)
        except database.STORE_ERRORS as error:
            raise LogError(f"The run log cannot be opened: {database.reason_of(error)}.") from error
        self._opened = opened
        self._number = opened.number
        self._reader = database.SqliteReader(opened.file, opened.reading)
        self._writer = database.SqliteWriter(opened.file, opened.writing)
        self._thread, self._checkpoints = (
            ThreadPoolExecutor(1, thread_name_prefix=f"adk-prism run log {name}")
            for name in ("writer", "checkpoints")
        )
        return opened.unended

    def closing(self) -> None:
        self._writer.is_closing = True

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        loop = asyncio.get_running_loop()
        await self._reader.close()
        await loop.run_in_executor(self._checkpoints, opened.checkpointing.close)
        # Last: the last connection to close writes the journal back and removes it.
        await loop.run_in_executor(self._thread, self._writer.close)
        for thread in (self._thread, self._checkpoints):
            thread.shutdown(wait=False)
        opened.lock.release()

    # ----------------------------------------------------------------------- writing

    async def register(self, summary: RunSummary) -> int:
        del summary  # a number is enough
        self._number += 1
        return self._number

    def write_now(self, group: Group) -> Sequence[AppendResult] | None:
        size = _journal_bytes(group)
        if self._busy or self.synchronous == "full" or size > QUICK_BYTES:
            return None
        if not self._writer.attempt(group):
            return None
        self._grow_journal(size)
        return [OK] * len(group)

    async def write(self, group: Group) -> Sequence[AppendResult]:
        results = await self._in_thread(partial(self._writer.write, group))
        if not all(result is OK for result in results):
            self._failed_at = time.monotonic()
        self._grow_journal(_journal_bytes(group))
        return results

    async def remove(self, run: RunId, origin: Origin | None, *, only_ended: bool = False) -> bool:
        del origin, only_ended  # An ended run stays ended, and no other process writes.
        try:
            await self._in_thread(lambda: self._writer.remove(run))
        except database.STORE_ERRORS as error:
            raise LogError(f"A run could not be removed: {database.reason_of(error)}.") from error
        self._grow_journal(CHECKPOINT_BYTES)  # A removal may change any number of pages.
        return True

    async def ask(self, question: database.Query[database.Answer]) -> database.Answer:
        """Read something, in the reading thread. Raise `LogError`."""
        if self._opened is None:
            raise not_open()
        return await self._reader.ask(question)

    async def change(self, what: str, make: database.Query[database.Answer]) -> database.Answer:
        """Make a change in a transaction, in the writing thread. Raise `LogError` that begins with `what`."""
        try:
            answer = await self._in_thread(lambda: self._writer.change(make))
        except database.STORE_ERRORS as error:
            self._failed_at = time.monotonic()
            raise LogError(f"{what}: {database.reason_of(error)}.") from error
        self._grow_journal(_CHANGE_BYTES)
        return answer

    async def probe(self) -> None:
        if self._failed_at is not None and time.monotonic() - self._failed_at < FAILED_SECONDS:
            raise LogError("The run log could not be written a moment ago.")
        if await asyncio.to_thread(lambda: shutil.disk_usage(self.path.parent).free) < LEAST_FREE:
            raise LogError("The disk of the run log is full.")
        try:
            await self._in_thread(lambda: self._writer.change(queries.touch))
        except database.STORE_ERRORS as error:
            raise LogError(
                f"The run log cannot be written: {database.reason_of(error)}."
            ) from error

    async def _in_thread(self, work: Callable[[], database.Answer]) -> database.Answer:
        """Do something with the writing connection. It is done even if the caller is cancelled."""
        if self._opened is None:
            raise not_open()
        self._busy += 1
        doing = asyncio.get_running_loop().run_in_executor(self._thread, work)
        doing.add_done_callback(self._done)
        return await asyncio.shield(doing)

    def _done(self, doing: asyncio.Future[database.Answer]) -> None:
        self._busy -= 1
        if not doing.cancelled():
            doing.exception()  # Retrieved here, because the caller may have been cancelled.

    def _grow_journal(self, size: int) -> None:
        """Note what was written; start a checkpoint when the journal is long."""
        self._journal += size
        opened = self._opened
        if self._journal > CHECKPOINT_BYTES and opened is not None:
            self._journal = 0
            self._checkpoints.submit(_checkpoint, opened.checkpointing)

    # ----------------------------------------------------------------------- reading

    async def find(self, run: RunId, *, patient: bool = False) -> StoredRun:
        del patient  # a file does not come back by waiting
        return await self._reader.ask(lambda it: queries.find_run(it, run))

    async def entries(
        self, live: BufferedRun, after: int, last: int, *, patient: bool = False
    ) -> Sequence[Entry]:
        del patient
        number = live.number
        entries = await self._reader.ask(lambda it: queries.read_entries(it, number, after, last))
        if not entries:
            raise trimmed(live.run)
        return entries

    async def select(self, wanted: Origin, *, unended: bool) -> Sequence[StoredRun]:
        return [] if unended else await self._reader.ask(lambda it: queries.ended_runs(it, wanted))

    async def sizes(self) -> tuple[Sequence[EndedRun], int]:
        return await self._reader.ask(queries.trim_candidates), 0

    def follow(self, live: BufferedRun) -> AbstractAsyncContextManager[FollowedRun]:
        raise trimmed(live.run)  # No other process writes: every active run is in memory.


def _journal_bytes(group: Group) -> int:
    """Return what a group adds to the journal, about."""
    return sum((batch.weight for batch in group), _GROUP_BYTES)


def _checkpoint(connection: sqlite3.Connection) -> None:
    # A disk that is full fails the next commit too, which can say so.
    with suppress(*database.STORE_ERRORS):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _warn_of_damage(path: Path, warn: Callable[[str], None]) -> None:
    """Say what of a file cannot be read, before SQLite meets it."""
    if lost := database.lost_in_journal(path):
        warn(
            f"The journal of the run log {path} is damaged: up to {lost} pages that were written last are"
            " lost, and the newest entries of runs with them. Such runs end as failed."
        )
    if damage := database.damage_of(path):
        warn(
            f"The run log {path} is damaged ({damage}): some runs cannot be read. Stop it, keep a copy,"
            f" and write what can be read into a new file: sqlite3 {path} .recover | sqlite3 NEW."
        )


def _open(path: Path, synchronous: database.Synchronous, warn: Callable[[str], None]) -> _Opened:
    """Open the file for this process alone, and read what is in it; `warn` of damage."""
    file = database.DatabaseFile(path, synchronous)
    file.create()
    with ExitStack() as undo:
        lock = database.FileLock(f"{path}.lock")
        undo.callback(lock.release)
        _warn_of_damage(path, warn)
        writing = file.connect()
        undo.callback(writing.close)
        database.prepare(writing, copy=Path(f"{path}.before-{len(database.MIGRATIONS)}"))
        connections = [file.connect() for _ in range(2)]
        opened = _Opened(
            file=file,
            lock=lock,
            writing=writing,
            reading=connections[0],
            checkpointing=connections[1],
            unended=queries.unended_runs(writing),
            number=queries.highest_number(writing),
        )
        undo.pop_all()
    return opened


class SqliteSide:
    """What is stored beside the runs: is a `SideStorage`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def put_value(self, owner: Owner, value: SideValue) -> None:
        answer = await self._store.change(
            "A note could not be stored", lambda it: queries.put_value(it, owner, value)
        )
        if answer == "full":
            raise too_many()
        if answer == "gone" and not isinstance(owner, Origin):
            raise trimmed(owner)

    async def delete_values(self, owner: Owner, value: tuple[str, str] | None = None) -> None:
        await self._store.change(
            "A note could not be removed", lambda it: queries.delete_values(it, owner, value)
        )

    async def list_values(self, owners: Collection[Owner]) -> dict[Owner, Sequence[SideValue]]:
        return await self._store.ask(lambda it: queries.list_values(it, owners))

    async def list_owners(self, space: str) -> Sequence[Origin]:
        return await self._store.ask(lambda it: queries.list_owners(it, space))

    async def find_texts(self, origin: Origin, digests: Sequence[bytes]) -> dict[bytes, int]:
        return await self._store.ask(lambda it: queries.find_texts(it, origin, digests))

    async def add_texts(
        self, run: RunId, origin: Origin, new: Mapping[bytes, bytes]
    ) -> dict[bytes, int]:
        numbers = await self._store.change(
            "Pieces could not be stored", lambda it: queries.add_texts(it, run, origin, new)
        )
        if numbers is None:
            raise trimmed(run)
        return numbers

    async def get_texts(self, origin: Origin, numbers: Sequence[int]) -> dict[int, bytes]:
        return await self._store.ask(lambda it: queries.get_texts(it, origin, numbers))


class SqliteLog(BufferedLog):
    """Keeps runs in a file: the default, for one process.

    What a commit promises (the file is in WAL mode): with `synchronous="normal"` it survives a crash of the
    process, and a power failure may lose the last moments of the log; with `synchronous="full"` it survives a
    power failure too, and every group waits for the disk.
    """

    store: SqliteStore

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: database.Synchronous = "normal",
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` is told of damage that is found when the file is opened."""
        self.path = Path(path).absolute()  # agent code may change the working directory
        super().__init__(SqliteStore(self.path, synchronous, warn))
