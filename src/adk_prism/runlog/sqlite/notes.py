"""SQL statements of notes: small texts beside a run log. Raises sqlite3's own errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Literal

from adk_prism.runlog.entry import Origin, RunId
from adk_prism.runlog.notes import OWNER_NOTES, Note, NoteOwner, owner_name, session_named

_ROW = "owner = ? AND kind = ? AND key = ?"


def put_note(
    connection: sqlite3.Connection, owner: NoteOwner, note: Note
) -> Literal["ok", "gone", "full"]:
    """Store a note; *gone*: its run is not there, *full*: the owner has too many."""
    is_session = isinstance(owner, Origin)
    if not (is_session or connection.execute(_HAS_RUN, (owner,)).fetchone()):
        return "gone"
    row = (owner_name(owner), note.kind, note.key)
    if not connection.execute(f"SELECT 1 FROM notes WHERE {_ROW}", row).fetchone():
        count = connection.execute("SELECT count(*) FROM notes WHERE owner = ?", row[:1])
        if count.fetchone()[0] >= OWNER_NOTES:
            return "full"
    connection.execute(
        "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?, ?)",
        (*row, note.time, note.value, is_session),
    )
    return "ok"


_HAS_RUN = "SELECT 1 FROM runs WHERE run = ?"


def delete_notes(
    connection: sqlite3.Connection, owner: NoteOwner, note: tuple[str, str] | None
) -> None:
    """Remove a note, or all of an owner."""
    name = owner_name(owner)
    if note is None:
        connection.execute("DELETE FROM notes WHERE owner = ?", (name,))
    else:
        connection.execute(f"DELETE FROM notes WHERE {_ROW}", (name, *note))


def drop_notes(connection: sqlite3.Connection, run: RunId, origin: Origin) -> None:
    """Remove the notes of a run that was removed, and those of its session if that has no runs."""
    delete_notes(connection, run, None)
    has_runs = "SELECT 1 FROM runs WHERE app = ? AND user = ? AND session = ?"
    names = (origin.app, origin.user, origin.session)
    if not connection.execute(has_runs, names).fetchone():
        delete_notes(connection, origin, None)


def get_notes(
    connection: sqlite3.Connection, owners: Collection[NoteOwner]
) -> dict[NoteOwner, Sequence[Note]]:
    """Return the notes of those owners that have any, by kind and key."""
    found: dict[NoteOwner, Sequence[Note]] = {}
    for owner in owners:
        rows = connection.execute(
            "SELECT kind, key, time, value FROM notes WHERE owner = ? ORDER BY kind, key",
            (owner_name(owner),),
        )
        notes = [Note(*row) for row in rows]
        if notes:
            found[owner] = notes
    return found


def noted(connection: sqlite3.Connection, kind: str) -> list[Origin]:
    """Return the sessions that have a note of a kind."""
    rows = connection.execute(
        "SELECT DISTINCT owner FROM notes WHERE kind = ? AND is_of_session", (kind,)
    )
    return [session_named(name) for (name,) in rows]
