"""The SQLite file of ADK's sessions, where it is this server's own: it shrinks when sessions are deleted.

ADK makes its tables and knows nothing of this. SQLite gives pages back only in a file that was made so,
before its first table; an older file keeps its size, and uses the room again.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from adk_prism.runlog.private_files import make_file

VACUUM_PAGES = 4096
"""Pages that are given back at a time, 16 MiB: nothing else is written for some tenths of a second."""

_BUSY_SECONDS = 5.0


def prepare_session_file(file: Path) -> None:
    """Make the file, if there is none, for this user alone, and as one that can shrink.

    Raise `OSError` or `sqlite3.Error`.
    """
    if file.exists():
        return
    make_file(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")  # Writes the first page, in which it is noted.


def shrink_session_file(file: Path) -> None:
    """Give free pages back to the file system. Raise `sqlite3.Error`."""
    with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
