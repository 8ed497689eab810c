"""What writes a run log's SQLite file: a group of changes in, one transaction out.

A group that the system takes at once, the deltas of some milliseconds, is written where it is: in the
event loop. A thread writes what may take long: large groups, removals, a file that somebody else
holds, every group where a commit waits for the disk, and the checkpoints, which always do. The loop
does it because the interpreter's lock makes the thread dear: a busy loop gives the lock back for
microseconds, a waiting thread needs it five times for a group and loses most races for it. Measured
on a run at full speed beside other busy processes: 4 groups a second that way, of up to 0.6 s, against
70 and a tenth less CPU time this way.

Takes one group at a time and answers each with what became of its changes. If a group cannot be
committed, its runs are tried one by one, so that what is wrong with one of them (an entry too large
for SQLite) does not touch the others. Knows no reader; how an answer gets to the event loop is the
owner's business.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import assert_never

from msgspec import Struct

from adk_prism.runlog.entry import Entry, RunEnded, RunId, RunStarted
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.run_state import Packed
from adk_prism.runlog.sqlite import queries
from adk_prism.runlog.sqlite.file import DatabaseFile

QUICK_BYTES = 256 * 1024
"""A group up to this size is written in the event loop: less than a millisecond."""

CHECKPOINT_BYTES = 4 * 1024 * 1024
"""The journal is written back to the file after about this much: SQLite's own default."""

VACUUM_PAGES = 4096
"""Pages that are given back after a removal, 16 MiB: what takes the writer some tenths of a second."""

_GROUP_BYTES = 12 * 1024
"""What a group puts into the journal besides its payloads: the pages that it shares with the last."""

PATIENCE = 5000
"""Milliseconds the thread waits for a file that is held. Only a person's sqlite3 shell can hold it."""

STORE_ERRORS = (sqlite3.Error, OSError, OverflowError)
"""What a store that cannot be used raises. OverflowError: a number or a text beyond SQLite's."""


class AppendBatch(Struct, frozen=True, gc=False, eq=False):
    """Entries to be added to a run. There is at least one."""

    run: BufferedRun
    entries: Sequence[Entry]
    packed: Sequence[Packed]
    bytes: int
    """Size of the run, these entries included."""
    weight: int
    """Size of these entries."""
    epoch: int
    new_owner: bool
    """The epoch is higher than before."""
    now: float
    """When the log took them."""


class Removal(Struct, frozen=True, gc=False, eq=False):
    """Runs to be removed."""

    runs: Sequence[RunId]
    settle: Callable[[str], None]
    """Is told the reason of a failure, or nothing."""


class Probe(Struct, frozen=True, gc=False, eq=False):
    """Something is to be written that changes nothing."""

    settle: Callable[[str], None]
    """Is told the reason of a failure, or nothing."""


Change = AppendBatch | Removal | Probe
Group = Sequence[Change]
AppendResults = Sequence[str]
"""For each change of a group: why it was not made, or empty."""


class SqliteWriter:
    """Owns the writing connection and its thread, from `start` to `stop`."""

    def __init__(
        self,
        file: DatabaseFile,
        connection: sqlite3.Connection,
        answer: Callable[[Group, AppendResults], None],
        gone: Callable[[], None],
    ) -> None:
        """`answer` and `gone` (the thread is over) are called in the thread."""
        self._file = file
        self._connection = connection
        self._answer = answer
        self._gone = gone
        self._journal = 0
        """Bytes in the journal, about."""
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA busy_timeout = 0")
        self._groups: SimpleQueue[Group | None] = SimpleQueue()
        # A daemon: a process that forgot to close its log can still end.
        self._thread = threading.Thread(target=self._run, name="adk-prism run log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def attempt(self, group: Group) -> bool:
        """Make the changes here, if they are quickly made; otherwise leave all as it is.

        Call it only while the thread has nothing to do: the connection is one.
        """
        size = _size_of(group)
        due = self._journal + size > CHECKPOINT_BYTES
        if self._file.flushes or due or size > QUICK_BYTES:
            return False
        try:
            self._commit(group)
        except STORE_ERRORS:
            return False  # The thread tries again, with patience, and says what is wrong.
        self._journal += size
        return True

    def put(self, group: Group) -> None:
        """Hand over a group. The next one only after the answer."""
        self._groups.put(group)

    def stop(self) -> None:
        """Ask the thread to end after what it has been given."""
        self._groups.put(None)

    def _run(self) -> None:
        try:
            while (group := self._groups.get()) is not None:
                self._connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")
                results = self._write(group)
                self._shrink(group)
                self._checkpoint(_size_of(group))
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._answer(group, results)
        finally:
            # Also when something unforeseen ends the thread: nobody may be left waiting.
            self._connection.close()
            self._gone()

    def _checkpoint(self, size: int) -> None:
        """Write a long journal back, as far as readers let us; what is left waits for the next time."""
        self._journal += size
        if self._journal > CHECKPOINT_BYTES:
            self._journal = 0
            # A disk that is full fails the next commit too, which can say so.
            with suppress(*STORE_ERRORS):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _shrink(self, group: Group) -> None:
        """Give room that removed runs have left back to the file system; not in files of before that."""
        if any(isinstance(change, Removal) for change in group):
            with suppress(*STORE_ERRORS):  # The room is used again all the same.
                self._connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()

    def _write(self, group: Group) -> AppendResults:
        reason = self._transact(group)
        if not reason or len(group) == 1:
            return [reason] * len(group)
        broken: dict[BufferedRun, str] = {}
        return [self._write_alone(change, broken) for change in group]

    def _write_alone(self, change: Change, broken: dict[BufferedRun, str]) -> str:
        """Make one change, unless an earlier one of its run failed: a log has no holes."""
        if not isinstance(change, AppendBatch):
            return self._transact([change])
        if change.run not in broken:
            broken[change.run] = self._transact([change])
        reason = broken[change.run]
        if not reason:
            del broken[change.run]
        return reason

    def _transact(self, group: Group) -> str:
        """Make changes all or none. Return why none, or an empty string."""
        try:
            self._commit(group)
        except STORE_ERRORS as error:
            return reason_of(error)
        return ""

    def _commit(self, group: Group) -> None:
        """Make changes all or none; raise what kept them from being made."""
        self._file.check()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            _make(self._connection, group)
            self._connection.execute("COMMIT")
        finally:
            # Some failures (a full disk) have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _size_of(group: Group) -> int:
    """Return what a group adds to the journal, about. A removal may add anything: it counts as much."""
    return sum(map(_journal_bytes, group), _GROUP_BYTES)


def _journal_bytes(change: Change) -> int:
    match change:
        case AppendBatch():
            return change.weight
        case Removal():
            return CHECKPOINT_BYTES
        case Probe():
            return 0


def _make(connection: sqlite3.Connection, group: Group) -> None:
    rows: list[queries.Row] = []
    for change in group:
        match change:
            case AppendBatch():
                _note_run(connection, change)
                rows += [
                    (change.run.number, entry.cursor, entry.time, kind, payload)
                    for entry, (kind, payload) in zip(change.entries, change.packed, strict=True)
                ]
            case Removal():
                queries.insert_entries(connection, rows)
                rows = []
                queries.remove_runs(connection, change.runs)
            case Probe():
                queries.touch(connection)
            case _:
                assert_never(change)
    queries.insert_entries(connection, rows)


def _note_run(connection: sqlite3.Connection, batch: AppendBatch) -> None:
    """Write what a run's first and last entry and a new owner change in the table of runs."""
    first, last = batch.entries[0], batch.entries[-1]
    number = batch.run.number
    if isinstance(first.record, RunStarted):
        queries.insert_run(connection, number, first.record, batch.now, batch.epoch)
    elif batch.new_owner:
        queries.raise_epoch(connection, number, batch.epoch)
    if isinstance(last.record, RunEnded):
        ended = Entry(last.cursor, batch.now, last.record)
        queries.end_run(connection, number, ended, batch.bytes, batch.epoch)


def reason_of(error: Exception) -> str:
    """Say what a store's error means. An OSError's own text would name the file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
