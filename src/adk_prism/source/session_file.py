"""The default SQLite file of ADK's sessions: it shrinks when sessions are deleted.

ADK creates the tables. SQLite can shrink a file only if that was set before its first table; an older file
keeps its size and reuses free pages.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from adk_prism.runlog.private_files import make_file

VACUUM_PAGES = 4096
"""Pages that are freed at a time, 16 MiB: it blocks other writers for some tenths of a second."""

_BUSY_SECONDS = 5.0


def prepare_session_file(file: Path) -> None:
    """Create the file, readable for this user only, and able to shrink, if there is none.

    Raise `OSError` or `sqlite3.Error`.
    """
    if file.exists():
        return
    make_file(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")  # Writes the first page, which holds the setting.


def shrink_session_file(file: Path) -> None:
    """Give free pages back to the file system. Raise `sqlite3.Error`."""
    with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
