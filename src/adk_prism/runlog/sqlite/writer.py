"""Writes a run log's SQLite file: a group of batches in, one transaction out.

Knows no event loop: `SqliteStore` decides whether a group is written in the event loop or in a thread. If
a group cannot be committed, its batches are tried one by one, so that what is wrong with one run (an
entry too large for SQLite) does not touch the others. If the file cannot be written at all, nothing is: the
store tries again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Concatenate, ParamSpec, TypeVar

from adk_prism.runlog.entry import Entry, RunEnded, RunId, RunStarted
from adk_prism.runlog.group_commit import PATIENCE
from adk_prism.runlog.log_store import OK, AppendBatch, AppendResult, Group
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.sqlite import notes, pieces, queries
from adk_prism.runlog.sqlite.file import DatabaseFile

VACUUM_PAGES = 4096
"""Pages that are freed after a removal, 16 MiB: some tenths of a second."""

LOOK = 500
"""Milliseconds for which SQLite waits for a locked file before it is looked whether the log closes."""

_Answer = TypeVar("_Answer")
Given = ParamSpec("Given")

_REFUSED = (
    OverflowError,
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.NotSupportedError,
)
"""Errors that come again with the same entries. Others are of the file: it is locked, or its disk is full."""

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

UNAVAILABLE = "unavailable"
"""Answer for a batch that could not be written now."""

STORE_ERRORS = (sqlite3.Error, OSError, OverflowError)
"""What a store that cannot be used raises. OverflowError: a number or a text beyond SQLite's limits."""


class SqliteWriter:
    """Owns the writing connection, which is used in one thread at a time."""

    def __init__(self, file: DatabaseFile, connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection
        self._until = 0.0
        """Until when a locked file is waited for, by the monotonic clock."""
        self.is_closing = False
        """The log closes: no change waits for a locked file any more."""
        # Checkpoints wait for the disk, so they are made elsewhere.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA busy_timeout = 0")

    def attempt(self, group: Group) -> bool:
        """Write a group if that works at once; otherwise leave everything as it was."""
        try:
            self._transact(lambda: _insert(self._connection, group))
        except STORE_ERRORS:
            return False  # `write` tries again, waits for a lock, and reports the error.
        return True

    def write(self, group: Group) -> Sequence[AppendResult]:
        """Write a group; wait for a moment for a file that is locked."""
        with self._patient(0):
            result = self._try([*group])
            if result is OK or len(group) == 1 or result.answer == UNAVAILABLE:
                return [result] * len(group)
            broken: dict[BufferedRun, AppendResult] = {}
            return [self._write_alone(batch, broken) for batch in group]

    def remove(self, run: RunId) -> None:
        """Remove a run; raise one of `STORE_ERRORS`."""
        with self._patient(PATIENCE):
            self._transact(lambda: self._remove(run))
            with suppress(*STORE_ERRORS):  # The pages are reused anyway.
                # A script runs to its end; `execute` would free one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")

    def _remove(self, run: RunId) -> None:
        origin = queries.origin_of(self._connection, run)
        queries.remove_runs(self._connection, [run])
        if origin is not None:
            pieces.drop_pieces(self._connection, origin)
            notes.drop_notes(self._connection, run, origin)

    def change(
        self,
        make: Callable[Concatenate[sqlite3.Connection, Given], _Answer],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> _Answer:
        """Make a change in a transaction of its own; raise one of `STORE_ERRORS`."""
        with self._patient(PATIENCE):
            return self._transact(lambda: make(self._connection, *args, **kwargs))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _write_alone(
        self, batch: AppendBatch, broken: dict[BufferedRun, AppendResult]
    ) -> AppendResult:
        """Write one batch, unless an earlier one of its run failed: a log has no gaps."""
        if batch.run in broken:
            return broken[batch.run]
        result = self._try([batch])
        if result is not OK:
            broken[batch.run] = result
        return result

    def _try(self, group: Group) -> AppendResult:
        try:
            self._transact(lambda: _insert(self._connection, group))
        except STORE_ERRORS as error:
            answer = "failed" if isinstance(error, _REFUSED) else UNAVAILABLE
            return AppendResult(answer, reason_of(error))
        return OK

    def _transact(self, change: Callable[[], _Answer]) -> _Answer:
        """Make a change completely or not at all; raise what kept it from being made."""
        self._file.check()
        self._begin()
        try:
            answer = change()
            self._connection.execute("COMMIT")
            return answer
        finally:
            # Some failures (a full disk) have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _begin(self) -> None:
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                is_over = self.is_closing or time.monotonic() >= self._until
                if is_over or error.sqlite_errorcode & 0xFF not in _LOCKED:
                    raise
            else:
                return

    @contextmanager
    def _patient(self, seconds: float) -> Iterator[None]:
        """Wait for a locked file, in a thread."""
        self._until = time.monotonic() + seconds
        self._connection.execute(f"PRAGMA busy_timeout = {LOOK}")
        try:
            yield
        finally:
            self._until = 0.0
            self._connection.execute("PRAGMA busy_timeout = 0")


def _insert(connection: sqlite3.Connection, group: Group) -> None:
    rows: list[queries.Row] = []
    for batch in group:
        _note_run(connection, batch)
        number = batch.run.number
        rows += [
            (number, entry.cursor, entry.time, kind, payload)
            for entry, (kind, payload) in zip(batch.entries, batch.packed, strict=True)
        ]
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
    """Return what a store's error means. An OSError's own text would name the file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
