"""The one thread that writes a run log's SQLite file: a group of changes in, one transaction out.

Takes one group at a time and answers each with what became of its changes. If a group cannot be
committed, its runs are tried one by one, so that what is wrong with one of them (an entry too large
for SQLite) does not touch the others. Knows no reader; how an answer gets to the event loop is the
owner's business.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import assert_never

from msgspec import Struct

from adk_prism.runlog import sqlite_store as store
from adk_prism.runlog.entry import Entry, RunEnded, RunId, RunStarted
from adk_prism.runlog.head import Packed
from adk_prism.runlog.sqlite_file import StoreFile
from adk_prism.runlog.tail import LiveRun

STORE_ERRORS = (sqlite3.Error, OSError, OverflowError)
"""What a store that cannot be used raises. OverflowError: a number or a text beyond SQLite's."""


class Growth(Struct, frozen=True, gc=False, eq=False):
    """Entries to be added to a run. There is at least one."""

    run: LiveRun
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


Change = Growth | Removal
Group = Sequence[Change]
Verdicts = Sequence[str]
"""For each change of a group: why it was not made, or empty."""


class Writer:
    """Owns the writing connection and its thread, from `start` to `stop`."""

    def __init__(
        self,
        file: StoreFile,
        connection: sqlite3.Connection,
        answer: Callable[[Group, Verdicts], None],
        gone: Callable[[], None],
    ) -> None:
        """`answer` and `gone` (the thread is over) are called in the thread."""
        self._file = file
        self._connection = connection
        self._answer = answer
        self._gone = gone
        self._groups: SimpleQueue[Group | None] = SimpleQueue()
        # A daemon: a process that forgot to close its log can still end.
        self._thread = threading.Thread(target=self._run, name="adk-prism run log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, group: Group) -> None:
        """Hand over a group. The next one only after the answer."""
        self._groups.put(group)

    def stop(self) -> None:
        """Ask the thread to end after what it has been given."""
        self._groups.put(None)

    def _run(self) -> None:
        try:
            while (group := self._groups.get()) is not None:
                self._answer(group, self._write(group))
        finally:
            # Also when something unforeseen ends the thread: nobody may be left waiting.
            self._connection.close()
            self._gone()

    def _write(self, group: Group) -> Verdicts:
        reason = self._transact(group)
        if not reason or len(group) == 1:
            return [reason] * len(group)
        broken: dict[LiveRun, str] = {}
        return [self._write_alone(change, broken) for change in group]

    def _write_alone(self, change: Change, broken: dict[LiveRun, str]) -> str:
        """Make one change, unless an earlier one of its run failed: a log has no holes."""
        if isinstance(change, Removal):
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
            self._file.check()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                _make(self._connection, group)
                self._connection.execute("COMMIT")
            finally:
                # Some failures (a full disk) have rolled back already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        except STORE_ERRORS as error:
            return reason_of(error)
        return ""


def _make(connection: sqlite3.Connection, group: Group) -> None:
    rows: list[store.Row] = []
    for change in group:
        match change:
            case Growth():
                _note_run(connection, change)
                rows += [
                    (change.run.number, entry.cursor, entry.time, kind, payload)
                    for entry, (kind, payload) in zip(change.entries, change.packed, strict=True)
                ]
            case Removal():
                store.insert_entries(connection, rows)
                rows = []
                store.remove_runs(connection, change.runs)
            case _:
                assert_never(change)
    store.insert_entries(connection, rows)


def _note_run(connection: sqlite3.Connection, growth: Growth) -> None:
    """Write what a run's first and last entry and a new owner change in the table of runs."""
    first, last = growth.entries[0], growth.entries[-1]
    number = growth.run.number
    if isinstance(first.record, RunStarted):
        store.insert_run(connection, number, first.record, growth.now, growth.epoch)
    elif growth.new_owner:
        store.raise_epoch(connection, number, growth.epoch)
    if isinstance(last.record, RunEnded):
        ended = Entry(last.cursor, growth.now, last.record)
        store.end_run(connection, number, ended, growth.bytes, growth.epoch)


def reason_of(error: Exception) -> str:
    """Say what a store's error means. An OSError's own text would name the file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
