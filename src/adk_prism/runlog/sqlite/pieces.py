"""SQL statements of pieces: texts beside a run log, kept once per session.

Raises sqlite3's own errors. Numbers come from one sequence for all sessions and are never used again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adk_prism.runlog.entry import Origin
from adk_prism.runlog.pieces import SESSION_BYTES

_AT_ONCE = 500
"""Values in one statement: old builds of SQLite allow 999."""


def find_pieces(
    connection: sqlite3.Connection, origin: Origin, digests: Sequence[bytes]
) -> dict[bytes, int]:
    """Return the numbers of those pieces that a session has."""
    return dict(_select(connection, "digest, number", "digest", origin, digests))


def get_pieces(
    connection: sqlite3.Connection, origin: Origin, numbers: Sequence[int]
) -> dict[int, bytes]:
    """Return pieces of a session by number."""
    return dict(_select(connection, "number, payload", "number", origin, numbers))


def _select(
    connection: sqlite3.Connection,
    columns: str,
    by: str,
    origin: Origin,
    values: Sequence[bytes] | Sequence[int],
) -> Iterator[tuple[Any, Any]]:
    session = _session(connection, origin)
    for start in range(0, len(values) if session else 0, _AT_ONCE):
        some = values[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        # `+session`: numbers are found by themselves, not by going through the session's index.
        column = "session" if by == "digest" else "+session"
        yield from connection.execute(
            f"SELECT {columns} FROM pieces WHERE {column} = ? AND {by} IN ({marks})",
            (session, *some),
        )


def put_pieces(
    connection: sqlite3.Connection, run: int, origin: Origin, pieces: Mapping[bytes, bytes]
) -> dict[bytes, int] | None:
    """Add pieces to a session; return their numbers, without those beyond its limit.

    None: the run is gone.
    """
    if not connection.execute("SELECT 1 FROM runs WHERE number = ?", (run,)).fetchone():
        return None
    names = (origin.app, origin.user, origin.session)
    connection.execute(
        "INSERT OR IGNORE INTO piece_sessions (app, user, session) VALUES (?, ?, ?)", names
    )
    session = _session(connection, origin)
    (size,) = connection.execute(
        "SELECT bytes FROM piece_sessions WHERE number = ?", (session,)
    ).fetchone()
    numbers = find_pieces(connection, origin, list(pieces))
    for digest, payload in pieces.items():
        if digest not in numbers and size + len(payload) <= SESSION_BYTES:
            row = connection.execute(
                "INSERT INTO pieces (session, digest, payload) VALUES (?, ?, ?)",
                (session, digest, payload),
            )
            assert row.lastrowid is not None, "an insert has a row"
            numbers[digest] = row.lastrowid
            size += len(payload)
    connection.execute("UPDATE piece_sessions SET bytes = ? WHERE number = ?", (size, session))
    return numbers


def drop_pieces(connection: sqlite3.Connection, origin: Origin) -> None:
    """Remove the pieces of a session that has no runs."""
    session = _session(connection, origin)
    names = (origin.app, origin.user, origin.session)
    has_runs = "SELECT 1 FROM runs WHERE app = ? AND user = ? AND session = ?"
    if session and not connection.execute(has_runs, names).fetchone():
        connection.execute("DELETE FROM pieces WHERE session = ?", (session,))
        connection.execute("DELETE FROM piece_sessions WHERE number = ?", (session,))


def _session(connection: sqlite3.Connection, origin: Origin) -> int:
    """Return the number of a session, 0 if it has no pieces."""
    found = connection.execute(
        "SELECT number FROM piece_sessions WHERE app = ? AND user = ? AND session = ?",
        (origin.app, origin.user, origin.session),
    ).fetchone()
    return int(found[0]) if found else 0
