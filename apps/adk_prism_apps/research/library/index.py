"""The papers in an SQLite full-text index: built once per user, or in memory if no file can be written.

The file's name holds the fingerprint of the data and of the schema, so that an index is never older
than its program. It is written aside and then put in place, so that two processes may build at once.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import astuple
from pathlib import Path

from ..databases.syntax import words_of
from .paper_file import COLUMNS, PaperFile, Row

_SCHEMA = """
CREATE TABLE papers (
    id INTEGER PRIMARY KEY, title TEXT, authors TEXT, year INTEGER, venue TEXT, kind TEXT,
    doi TEXT, arxiv TEXT, citations TEXT, field TEXT, topics TEXT, checked TEXT
);
CREATE INDEX by_year ON papers (year);
CREATE VIRTUAL TABLE words USING fts5(
    title, authors, venue, topics, content='', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TABLE spellings (word TEXT PRIMARY KEY, papers INTEGER) WITHOUT ROWID;
"""


def open_index(paper_file: PaperFile, folder: Path | None) -> sqlite3.Connection:
    """Return a connection to the index, which is built if it is not there yet.

    Threads may share the connection if they take turns. Without a folder, or where it cannot be
    written or read, the index lives in memory.
    """
    if folder is not None:
        path = folder / f"library-{_version(paper_file)}.sqlite"
        with suppress(OSError, sqlite3.Error):
            if not path.exists():
                _build_aside(paper_file, path)
            return _opened(path, paper_file)
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    _build(memory, paper_file.rows())
    return memory


def cache_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the user's cache folder; None without a home folder."""
    settings = os.environ if environment is None else environment
    named = settings.get("ADK_PRISM_CACHE") or ""
    if named:
        return Path(named).expanduser()
    base = settings.get("XDG_CACHE_HOME") or settings.get("LOCALAPPDATA") or ""
    try:
        return (Path(base) if base else Path.home() / ".cache") / "adk-prism"
    except RuntimeError:
        return None


def _version(paper_file: PaperFile) -> str:
    schema = hashlib.sha256(_SCHEMA.encode()).hexdigest()[:8]
    return f"{paper_file.fingerprint}-{schema}"


def _opened(path: Path, paper_file: PaperFile) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    try:
        (found,) = connection.execute("SELECT count(*) FROM papers").fetchone()
        (indexed,) = connection.execute("SELECT count(*) FROM words_docsize").fetchone()
        if found != paper_file.size or indexed != paper_file.size:
            raise sqlite3.DatabaseError(f"{path.name} holds {found} papers, not {paper_file.size}")
    except sqlite3.Error:
        connection.close()
        # Whatever it is, it is not ours; the next start makes a good one.
        path.unlink()
        raise
    return connection


def _build_aside(paper_file: PaperFile, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="library-", suffix=".part")
    os.close(handle)
    try:
        with closing(sqlite3.connect(name)) as connection:
            _build(connection, paper_file.rows())
        os.replace(name, path)
        # Indexes of older data or schemas; a process that still reads one has it open.
        for old in path.parent.glob("library-*.sqlite"):
            if old != path:
                old.unlink(missing_ok=True)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _build(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    spellings: dict[str, int] = {}
    connection.executescript(_SCHEMA)
    for number, row in enumerate(rows, 1):
        connection.execute(
            f"INSERT INTO papers VALUES ({','.join('?' * (1 + len(COLUMNS)))})",
            (number, *astuple(row)),
        )
        connection.execute(
            "INSERT INTO words (rowid, title, authors, venue, topics) VALUES (?,?,?,?,?)",
            (number, row.title, row.authors, row.venue, row.topics),
        )
        for word in set(words_of(f"{row.title} {row.topics}")):
            spellings[word] = spellings.get(word, 0) + 1
    connection.executemany("INSERT INTO spellings VALUES (?,?)", sorted(spellings.items()))
    connection.commit()
