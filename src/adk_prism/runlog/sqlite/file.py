"""The SQLite file of a run log: where it is, whether it is a run log, and the version of its schema.

Knows no run and no entry. The schema's version is `PRAGMA user_version`; a file of an older one is
migrated when it is opened, a file of a newer one, or of another program, is refused. File and folder
are readable for this user only: a run log contains conversations.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from adk_prism.errors import LogError
from adk_prism.runlog.forked_child import close_in_children, keep_open_no_longer
from adk_prism.runlog.private_files import make_file, make_folder

Synchronous = Literal["normal", "full"]

APPLICATION_ID = 0x7072736D
"""`prsm`: distinguishes a run log from any other SQLite file, such as ADK's sessions."""

_BUSY_SECONDS = 5.0
"""Only a checkpoint or a person's sqlite3 shell can hold the file; neither takes longer."""

_WAL_LIMIT = 64 * 1024 * 1024
"""The journal shrinks to this after a burst; SQLite never shrinks it otherwise."""

_SCHEMA_1 = """
CREATE TABLE runs (
    number     INTEGER PRIMARY KEY,
    run        TEXT NOT NULL UNIQUE,
    app        TEXT NOT NULL,
    user       TEXT NOT NULL,
    session    TEXT NOT NULL,
    invocation TEXT NOT NULL,
    message    TEXT NOT NULL,
    started    REAL NOT NULL,
    epoch      INTEGER NOT NULL,
    ended      REAL,
    outcome    TEXT,
    cursor     INTEGER NOT NULL DEFAULT 0,
    bytes      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_session ON runs (app, user, session);
CREATE TABLE entries (
    run     INTEGER NOT NULL,
    cursor  INTEGER NOT NULL,
    time    REAL NOT NULL,
    kind    TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (run, cursor)
) WITHOUT ROWID;
CREATE TABLE tombstones (
    number INTEGER PRIMARY KEY,
    run    TEXT NOT NULL UNIQUE
);
"""

_PIECES = """
CREATE TABLE piece_sessions (
    number  INTEGER PRIMARY KEY,
    app     TEXT NOT NULL,
    user    TEXT NOT NULL,
    session TEXT NOT NULL,
    bytes   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (app, user, session)
);
CREATE TABLE pieces (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    digest  BLOB NOT NULL,
    payload BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_digest ON pieces (session, digest);
"""

_DIGESTS = """
-- Version of its digest, 0 if it has none.
ALTER TABLE runs ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_by_indexed ON runs (indexed, number) WHERE ended IS NOT NULL;
CREATE TABLE digests (
    run      INTEGER PRIMARY KEY,
    tokens   INTEGER NOT NULL,
    duration REAL NOT NULL,
    digest   BLOB NOT NULL
);
CREATE TABLE digest_names (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    run  INTEGER NOT NULL,
    PRIMARY KEY (kind, name, run)
) WITHOUT ROWID;
CREATE INDEX digest_names_by_run ON digest_names (run);
-- The text is cut into words before. `ascii` keeps all other characters inside their words.
CREATE VIRTUAL TABLE digest_text USING fts5(text, tokenize = 'ascii', prefix = '1 2');
"""

_NOTES = """
CREATE TABLE notes (
    owner TEXT NOT NULL,
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    time  REAL NOT NULL,
    value BLOB NOT NULL,
    is_of_session INTEGER NOT NULL,
    PRIMARY KEY (owner, kind, key)
) WITHOUT ROWID;
CREATE INDEX session_notes_by_kind ON notes (kind, owner) WHERE is_of_session;
"""

Step = Callable[[sqlite3.Connection], None]


def _script(schema: str) -> Step:
    def step(connection: sqlite3.Connection) -> None:
        for statement in schema.split(";"):
            connection.execute(statement)

    return step


MIGRATIONS: Sequence[Step] = tuple(map(_script, (_SCHEMA_1, _PIECES, _DIGESTS, _NOTES)))
"""Step n takes a file from version n to n + 1. Steps are only ever added, so every old file can be
opened. The version is `PRAGMA user_version`."""


class DatabaseFile:
    """The file as it was opened. SQLite continues to write to a removed file; we do not."""

    def __init__(self, path: Path, synchronous: Synchronous) -> None:
        self._path = path
        self._synchronous = synchronous
        self._identity = (0, 0)

    def create(self) -> None:
        """Create the file and its folder, readable for this user only, if they are missing."""
        make_folder(self._path.parent)
        make_file(self._path)
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


def prepare(connection: sqlite3.Connection, steps: Sequence[Step] = MIGRATIONS) -> None:
    """Bring a file to this version's schema.

    Raise `LogError` for a file of a newer version, or of another program. A step that fails leaves
    the file as it was.
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
    connection.execute("BEGIN IMMEDIATE")
    try:
        _migrate(connection, steps)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _migrate(connection: sqlite3.Connection, steps: Sequence[Step]) -> None:
    version = check_version(connection, len(steps))
    for step in steps[version:]:
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
                "Another adk-prism uses this run log. Stop it, or pass --log."
            ) from error
        close_in_children(self._descriptor)

    def release(self) -> None:
        """Release the lock. The file stays."""
        keep_open_no_longer(self._descriptor)
        os.close(self._descriptor)
