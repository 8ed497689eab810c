"""The SQLite file of a run log: where it is, whether it is a run log, and the version of its schema.

Knows no run and no entry. The schema's version is `PRAGMA user_version`; a file of an older one is
migrated when it is opened, a file of a newer one, or of another program, is refused. File and folder
are readable for this user only: a run log contains conversations.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar

from adk_prism.errors import LogError
from adk_prism.log import private_files
from adk_prism.log.entry import Entry, RunEnded, RunId, RunStarted
from adk_prism.log.group_commit import OK, PATIENCE, UNAVAILABLE, AppendBatch, AppendResult, Group
from adk_prism.log.run_state import BufferedRun
from adk_prism.log.sqlite import queries

Synchronous = Literal["normal", "full"]

APPLICATION_ID = 0x7072736D
"""`prsm`: distinguishes a run log from any other SQLite file, such as ADK's sessions."""

_BUSY_SECONDS = 5.0
"""Only a checkpoint or a person's sqlite3 shell can hold the file; neither takes longer."""

_WAL_LIMIT = 64 * 1024 * 1024
"""The journal shrinks to this after a burst; SQLite never shrinks it otherwise."""


Step = Callable[[sqlite3.Connection], None]


def _run(connection: sqlite3.Connection, schema: str) -> None:
    for statement in schema.split(";"):
        connection.execute(statement)


def _make(connection: sqlite3.Connection, *names: str) -> None:
    """Make the tables of some files of the folder `schema`."""
    for name in names:
        file = Path(__file__).with_name("schema") / f"{name}.sql"
        _run(connection, file.read_text(encoding="utf-8"))


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file."""
    _make(connection, "runs", "entries", "texts", "side_values")


# Versions 1 to 4, of adk-prism 0.1.

_DIGESTS_OF_3 = """
ALTER TABLE runs ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE digests (run INTEGER PRIMARY KEY, tokens INTEGER, duration REAL, digest BLOB);
"""


_FROM_4_TO_5 = """
INSERT INTO side_values SELECT owner, kind, key, time, value, is_of_session FROM notes;
DROP TABLE notes;
ALTER TABLE digests ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
UPDATE digests SET version = coalesce((SELECT indexed FROM runs WHERE number = digests.run), 0);
DROP INDEX IF EXISTS runs_by_indexed;
"""
"""Notes are values of the side store. Digests belong to the search, which keeps their version with them."""


def _migrate_to_5(connection: sqlite3.Connection) -> None:
    _make(connection, "side_values")
    _run(connection, _FROM_4_TO_5)
    # Without `indexed`; older builds of SQLite cannot drop a column.
    connection.execute("ALTER TABLE runs RENAME TO runs_of_4")
    connection.execute("DROP INDEX IF EXISTS runs_by_session")
    _make(connection, "runs")
    connection.execute(f"INSERT INTO runs ({_RUN_COLUMNS}) SELECT {_RUN_COLUMNS} FROM runs_of_4")
    connection.execute("DROP TABLE runs_of_4")


_RUN_COLUMNS = (
    "number, run, app, user, session, invocation, message, started, epoch,"
    " ended, outcome, cursor, bytes"
)

MIGRATIONS: Sequence[Step] = (
    _create,
    lambda connection: _make(connection, "texts"),
    lambda connection: _run(connection, _DIGESTS_OF_3),
    lambda connection: _make(connection, "notes_of_4"),
    _migrate_to_5,
)
"""Step n takes a file from version n to n + 1; the first makes a new file, at the newest version. Steps are
only ever added, so every old file can be opened. The version is `PRAGMA user_version`."""


class DatabaseFile:
    """The file as it was opened. SQLite continues to write to a removed file; we do not."""

    def __init__(self, path: Path, synchronous: Synchronous) -> None:
        self._path = path
        self._synchronous = synchronous
        self._identity = (0, 0)

    def create(self) -> None:
        """Create the file and its folder, readable for this user only, if they are missing."""
        private_files.make_folder(self._path.parent)
        private_files.make_file(self._path)
        self._identity = self._look()

    def check(self) -> None:
        """Raise `OSError` if the file is not the one that was opened any more."""
        if self._look() != self._identity:
            raise FileNotFoundError("the file was replaced by another one")

    def _look(self) -> tuple[int, int]:
        status = os.stat(self._path)
        return status.st_dev, status.st_ino

    def connect(self) -> sqlite3.Connection:
        """Open a connection; the caller closes it, and uses it in one thread at a time."""
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        return connection


def prepare(
    connection: sqlite3.Connection, steps: Sequence[Step] = MIGRATIONS, copy: Path | None = None
) -> None:
    """Bring a file to this version's schema; one of an older version is first copied to `copy`.

    Raise `LogError` for a file of a newer version, or of another program. A step that fails, or a process
    that dies, leaves the file as it was.
    """
    # Before anything is written: it is fixed with the first page.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise LogError(
            f"The run log's file system only allows the journal mode {mode!r}; expected 'wal'. "
            "Put the file on a local disk."
        )
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    if copy is not None and 0 < check_version(connection, len(steps)) < len(steps):
        copy.unlink(missing_ok=True)  # The copy of an attempt that was cut off.
        private_files.make_file(copy)
        connection.execute("VACUUM INTO ?", (str(copy),))
    connection.execute("BEGIN IMMEDIATE")
    try:
        _migrate(connection, steps)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _migrate(connection: sqlite3.Connection, steps: Sequence[Step]) -> None:
    version = check_version(connection, len(steps))
    for step in steps[version:] if version else steps[:1]:
        step(connection)
    connection.execute(f"PRAGMA user_version = {len(steps)}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_version(connection: sqlite3.Connection, newest: int) -> int:
    """Return a file's version. Raise `LogError` for a newer one, or a file of another program."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and owner != APPLICATION_ID:
        raise LogError(
            "The file is the database of another program, not a run log. Choose another file."
        )
    if version > newest:
        raise LogError(
            f"The run log has schema version {version}; this adk-prism supports up to {newest}. "
            "Use a newer adk-prism, or a new file."
        )
    return int(version)


# ---------------------------------------------------------------------- lock


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        # flock and not lockf: it also keeps two logs of one process apart.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """An exclusive lock, held from its creation to `release`, or to the end of the process.

    It is on a file beside the database, so that SQLite's own locks on the database cannot release it. The
    lock file stays: removing it would let two processes lock two files of one name.
    """

    def __init__(self, path: str) -> None:
        """Take the lock. Raise `LogError` if another process holds it."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            raise LogError(
                f"Another process uses the run log {path.removesuffix('.lock')}: SQLite is for one process. "
                "Stop the other one, use another --data-dir, or for several workers --log redis://HOST."
            ) from error
        private_files.close_in_children(self._descriptor)

    def release(self) -> None:
        """Release the lock. The file stays."""
        private_files.keep_open_no_longer(self._descriptor)
        os.close(self._descriptor)


# --------------------------------------------------------------------------- damage

# What is wrong with a SQLite file, found at the start: damaged pages, and what its journal has lost.
#
# SQLite reads a damaged page only when a query needs it, and then fails that query; of a damaged journal it
# takes what comes before the damage, and does not say that there was more. Both are looked for here, within
# limits of time and size, so that the operator learns of it when the server starts.
#
# The journal's format is that of https://www.sqlite.org/fileformat2.html#the_write_ahead_log.

LONGEST_CHECK = 2.0
"""Seconds that the check of a file may take: some GiB of a file that is in memory."""
LARGEST_JOURNAL = 16 * 1024**2
"""Bytes of a journal that is checked: a second of work. Ours have less."""

_STEPS = 10_000
"""Of SQLite's machine between two looks at the clock."""
_HEADER, _FRAME = 32, 24
_BIG_ENDIAN = 0x377F0683
_MAGIC = (0x377F0682, _BIG_ENDIAN)


def damage_of(file: Path) -> str:
    """Return what is wrong with a database, in a few words; nothing if none is found in time."""
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)
        ) as connection:
            until = time.monotonic() + LONGEST_CHECK
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        return ""  # it took too long, or the file is in use
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else str(found).replace("\n", " ")


def lost_in_journal(file: Path) -> int:
    """Return how many pages a damaged journal holds that SQLite will not read. Call it before SQLite does."""
    journal = Path(f"{file}-wal")
    try:
        if not 0 < journal.stat().st_size <= LARGEST_JOURNAL:
            return 0
        data = journal.read_bytes()
    except OSError:
        return 0
    if len(data) < _HEADER:
        return 0
    magic, _, page, _, *salt = struct.unpack(">6I", data[:24])
    if magic not in _MAGIC or not 512 <= page <= 65536:
        return (len(data) - _HEADER) // (4096 + _FRAME)  # all of it: the header itself is damaged
    order = ">" if magic == _BIG_ENDIAN else "<"
    size = _FRAME + page
    frames = [data[at : at + size] for at in range(_HEADER, len(data) - size + 1, size)]
    # Frames with other salts are left from before the journal was last reset.
    ours = [frame for frame in frames if struct.unpack(">2I", frame[8:16]) == tuple(salt)]
    sums = _checksum(data[:24], order)
    for number, frame in enumerate(frames):
        sums = _checksum(frame[:8] + frame[_FRAME:], order, sums)
        if sums != struct.unpack(">2I", frame[16:24]):
            return max(0, len(ours) - number)
    return 0


def _checksum(data: bytes, order: str, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second


# ---------------------------------------------------------------------------
# Writes a run log's SQLite file: a group of batches in, one transaction out.
#
# Knows no event loop: `SqliteStore` decides whether a group is written in the event loop or in a
# thread. If a group cannot be committed, its batches are tried one by one, so that what is wrong with
# one run (an entry too large for SQLite) does not touch the others. If the file cannot be written at
# all, nothing is: the store tries again.

VACUUM_PAGES = 4096
"""Pages that are freed after a removal, 16 MiB: some tenths of a second."""

LOOK = 500
"""Milliseconds for which SQLite waits for a locked file before it is looked whether the log closes."""

Answer = TypeVar("Answer")
Query = Callable[[sqlite3.Connection], Answer]
"""SQL on a connection, which returns what was read or changed."""

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
            self._transact(lambda connection: _insert(connection, group))
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
            self._transact(lambda connection: queries.remove_run(connection, run))
            with suppress(*STORE_ERRORS):  # The pages are reused anyway.
                # A script runs to its end; `execute` would free one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")

    def change(self, make: Query[Answer]) -> Answer:
        """Make a change in a transaction of its own; raise one of `STORE_ERRORS`."""
        with self._patient(PATIENCE):
            return self._transact(make)

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
            self._transact(lambda connection: _insert(connection, group))
        except STORE_ERRORS as error:
            answer = "failed" if isinstance(error, _REFUSED) else UNAVAILABLE
            return AppendResult(answer, reason_of(error))
        return OK

    def _transact(self, change: Query[Answer]) -> Answer:
        """Make a change completely or not at all; raise what kept it from being made."""
        self._file.check()
        self._begin()
        try:
            answer = change(self._connection)
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


# --------------------------------------------------------------------------- reader

# The thread that reads a run log's SQLite file, for readers that are not served from memory.
#
# One thread and one connection: most readers follow a run in memory, and one thread cannot starve the writer.
# A question is a function on a connection (`queries`); its answer is awaited.


class SqliteReader:
    """Owns the reading connection and its thread, until `close`."""

    def __init__(self, file: DatabaseFile, connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="adk-prism run log reader")

    async def ask(self, question: Query[Answer]) -> Answer:
        """Return the question's answer. Raise `LogError` if the store cannot give it."""

        def run() -> Answer:
            self._file.check()
            return question(self._connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except STORE_ERRORS as error:
            raise LogError(f"The run log cannot be read: {reason_of(error)}.") from error

    async def close(self) -> None:
        """Close after the questions that were asked."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown(wait=False)
