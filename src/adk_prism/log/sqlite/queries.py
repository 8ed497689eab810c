"""All SQL statements of a run log in SQLite, as functions on a connection.

Raises sqlite3's own errors. `runs` is written when a run starts, ends or gets a new owner; otherwise only
`entries` grows, in statements of many rows: the interpreter's lock may change hands with every statement,
and a busy event loop gives it back late.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import asdict, astuple

from adk_prism.errors import LogError, SourceError
from adk_prism.log import contract
from adk_prism.log.contract import MAX_TOMBSTONES, EndedRun
from adk_prism.log.entry import Entry, Origin, RunEnded, RunId, RunStarted, unpack
from adk_prism.log.group_commit import StoredRun
from adk_prism.log.run_state import READ_BATCH, summary_of, trimmed, unknown

Row = tuple[int, int, float, str, bytes]
"""Of `entries`: run, cursor, time, kind, payload."""

READ_BYTES = 1024 * 1024
"""A batch read from the file ends after this much payload, so that large events come one by one."""

_INSERT_SIZES = (128, *range(32, 0, -1))
"""Rows per statement: an ordinary group is one, and few enough that all stay prepared. 128 × 5 values
stay under the 999 that old builds of SQLite allow."""

# --------------------------------------------------------------------------- writing


def insert_run(
    connection: sqlite3.Connection, number: int, start: RunStarted, now: float, epoch: int
) -> None:
    """Add a run. Its cursor, size and end are written when it ends."""
    run, names = summary_of(start), astuple(start.origin)
    connection.execute(
        "INSERT INTO runs (number, run, app, user, session, invocation, message, started, epoch)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, run.run, *names, run.invocation, run.message, now, epoch),
    )


def insert_entries(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Add entries, in as few statements as can be."""
    done = 0
    for size in _INSERT_SIZES:
        while len(rows) - done >= size:
            values = [value for row in rows[done : done + size] for value in row]
            connection.execute(_INSERTS[size], values)
            done += size


_INSERTS = {
    size: "INSERT INTO entries VALUES " + ", ".join(["(?, ?, ?, ?, ?)"] * size)
    for size in _INSERT_SIZES
}


def raise_epoch(connection: sqlite3.Connection, number: int, epoch: int) -> None:
    """Store a run's new owner. Raise `IntegrityError` if the file has a later one."""
    _update_fenced(connection, "UPDATE runs SET epoch = ?", (epoch,), number, epoch)


def end_run(
    connection: sqlite3.Connection, number: int, last: Entry, size: int, epoch: int
) -> None:
    """Store how a run ended. Raise `IntegrityError` if the file has a later owner."""
    assert isinstance(last.record, RunEnded)
    _update_fenced(
        connection,
        "UPDATE runs SET ended = ?, outcome = ?, cursor = ?, bytes = ?",
        (last.time, last.record.outcome, last.cursor, size),
        number,
        epoch,
    )


def _update_fenced(
    connection: sqlite3.Connection, update: str, values: tuple[object, ...], run: int, epoch: int
) -> None:
    done = connection.execute(f"{update} WHERE number = ? AND epoch <= ?", (*values, run, epoch))
    if done.rowcount != 1:
        raise sqlite3.IntegrityError("the run has another owner")


def remove_run(connection: sqlite3.Connection, run: RunId) -> None:
    """Remove a run with its entries and values, and remember its name.

    If it was its session's last, all that is stored of the session goes too.
    """
    found = connection.execute("SELECT number, app, user, session FROM runs WHERE run = ?", (run,))
    for number, *names in found.fetchall():
        connection.execute("DELETE FROM entries WHERE run = ?", (number,))
        connection.execute("DELETE FROM runs WHERE number = ?", (number,))
        app, user, session = names
        _drop_owners(connection, run, Origin(app=app, user=user, session=session))
    connection.execute("INSERT OR IGNORE INTO tombstones (run) VALUES (?)", (run,))
    connection.execute(
        "DELETE FROM tombstones WHERE number <= (SELECT max(number) FROM tombstones) - ?",
        (MAX_TOMBSTONES,),
    )


# --------------------------------------------------------------------------- reading


RUN_COLUMNS = (
    "number, runs.run, app, user, session, invocation, message, started, ended, outcome, epoch,"
    # Only the end writes these two; until then they are what the entries say.
    " CASE WHEN ended IS NULL"
    "  THEN (SELECT coalesce(max(e.cursor), 0) FROM entries e WHERE e.run = number)"
    "  ELSE cursor END,"
    " CASE WHEN ended IS NULL"
    "  THEN (SELECT coalesce(sum(length(e.payload)), 0) FROM entries e WHERE e.run = number)"
    "  ELSE bytes END"
)


def find_run(connection: sqlite3.Connection, run: RunId) -> StoredRun:
    """Return a run; raise `Gone` for one that was removed, `NotFound` for any other."""
    found = _select_runs(connection, "run = ?", [run])
    if found:
        return found[0]
    gone = connection.execute("SELECT 1 FROM tombstones WHERE run = ?", (run,)).fetchone()
    raise trimmed(run) if gone else unknown(run)


def unended_runs(connection: sqlite3.Connection) -> list[StoredRun]:
    """Return the runs that have no end."""
    return _select_runs(connection, "ended IS NULL", [])


def ended_runs(connection: sqlite3.Connection, wanted: Origin) -> list[StoredRun]:
    """Return the ended runs of an origin, in which an empty string matches any."""
    return _runs_of(connection, wanted, "ended IS NOT NULL")


def runs_of(connection: sqlite3.Connection, wanted: Origin) -> list[StoredRun]:
    """Return the runs of an origin, ended or not; an empty string matches any."""
    return _runs_of(connection, wanted, "1")


def _runs_of(connection: sqlite3.Connection, wanted: Origin, where: str) -> list[StoredRun]:
    given = {column: value for column, value in asdict(wanted).items() if value}
    conditions = [where, *(f"{column} = ?" for column in given)]
    return _select_runs(connection, " AND ".join(conditions), [*given.values()])


def trim_candidates(connection: sqlite3.Connection) -> list[EndedRun]:
    """Return what is needed of all ended runs to choose which to remove."""
    rows = connection.execute(
        "SELECT run, ended, bytes, app, user, session FROM runs WHERE ended IS NOT NULL ORDER BY number"
    )
    return [
        EndedRun(run, ended, size, Origin(app=app, user=user, session=session))
        for run, ended, size, app, user, session in rows
    ]


def touch(connection: sqlite3.Connection) -> None:
    """Write a page without changing anything: SQLite writes a version even if it is the same."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {version}")


def _select_runs(
    connection: sqlite3.Connection, where: str, values: Sequence[str]
) -> list[StoredRun]:
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE {where} ORDER BY number", values
    )
    return [stored_run(row) for row in rows]


def stored_run(row: Sequence[Any]) -> StoredRun:
    """Read a row of `RUN_COLUMNS`."""
    number, run, app, user, session, *rest = row
    names = ("invocation", "message", "started", "ended", "outcome", "epoch", "cursor", "bytes")
    origin = Origin(app=app, user=user, session=session)
    fields = dict(zip(names, rest, strict=True))
    return StoredRun(number, contract.RunSummary(run=RunId(run), origin=origin, **fields))


def highest_number(connection: sqlite3.Connection) -> int:
    """Return the number of the run that started last, 0 if there is none."""
    (number,) = connection.execute("SELECT coalesce(max(number), 0) FROM runs").fetchone()
    return int(number)


def read_entries(connection: sqlite3.Connection, number: int, after: int, last: int) -> list[Entry]:
    """Return a run's entries past `after` and up to `last`, as many as make a batch.

    Raise `LogError` for an entry that cannot be read.
    """
    rows = connection.execute(
        "SELECT cursor, time, kind, payload FROM entries"
        " WHERE run = ? AND cursor > ? AND cursor <= ? ORDER BY cursor LIMIT ?",
        (number, after, last, READ_BATCH),
    )
    entries = []
    size = 0
    try:
        for cursor, time, kind, payload in rows:
            entries.append(Entry(cursor, time, unpack(kind, payload)))
            size += len(payload)
            if size > READ_BYTES:
                break
    except SourceError as error:
        raise LogError(f"The run log is damaged. {error}") from error
    finally:
        rows.close()
    return entries


# ---------------------------------------------------------------------------
# The side store: values in one table, texts once per session in another. Numbers of texts come from one
# sequence for all sessions and are never used again.

_ROW = "owner = ? AND space = ? AND key = ?"


def put_value(
    connection: sqlite3.Connection, owner: contract.Owner, value: contract.SideValue
) -> Literal["ok", "gone", "full"]:
    """Store a value; *gone*: its run is not there, *full*: the owner has too many."""
    is_session = isinstance(owner, Origin)
    if not (is_session or connection.execute(_HAS_RUN, (owner,)).fetchone()):
        return "gone"
    row = (contract.owner_name(owner), value.space, value.key)
    if not connection.execute(f"SELECT 1 FROM side_values WHERE {_ROW}", row).fetchone():
        count = connection.execute("SELECT count(*) FROM side_values WHERE owner = ?", row[:1])
        if count.fetchone()[0] >= contract.OWNER_VALUES:
            return "full"
    connection.execute(
        "INSERT OR REPLACE INTO side_values VALUES (?, ?, ?, ?, ?, ?)",
        (*row, value.time, value.value, is_session),
    )
    return "ok"


_HAS_RUN = "SELECT 1 FROM runs WHERE run = ?"


def delete_values(
    connection: sqlite3.Connection, owner: contract.Owner, value: tuple[str, str] | None
) -> None:
    """Remove a value, or all of an owner."""
    name = contract.owner_name(owner)
    if value is None:
        connection.execute("DELETE FROM side_values WHERE owner = ?", (name,))
    else:
        connection.execute(f"DELETE FROM side_values WHERE {_ROW}", (name, *value))


def _drop_owners(connection: sqlite3.Connection, run: RunId, origin: Origin) -> None:
    """Remove the values of a run that was removed, and all of its session if that has no runs."""
    delete_values(connection, run, None)
    has_runs = "SELECT 1 FROM runs WHERE app = ? AND user = ? AND session = ?"
    names = astuple(origin)
    if not connection.execute(has_runs, names).fetchone():
        delete_values(connection, origin, None)
        _drop_texts(connection, origin)


def list_values(
    connection: sqlite3.Connection, owners: Collection[contract.Owner]
) -> dict[contract.Owner, Sequence[contract.SideValue]]:
    """Return the values of those owners that have any, by space and key."""
    found: dict[contract.Owner, Sequence[contract.SideValue]] = {}
    for owner in owners:
        rows = connection.execute(
            "SELECT space, key, time, value FROM side_values WHERE owner = ? ORDER BY space, key",
            (contract.owner_name(owner),),
        )
        values = [contract.SideValue(*row) for row in rows]
        if values:
            found[owner] = values
    return found


def list_owners(connection: sqlite3.Connection, space: str) -> list[Origin]:
    """Return the sessions that have a value in a space."""
    rows = connection.execute(
        "SELECT DISTINCT owner FROM side_values WHERE space = ? AND is_of_session", (space,)
    )
    return [contract.session_named(name) for (name,) in rows]


# --------------------------------------------------------------------------- texts

_AT_ONCE = 500
"""Values in one statement: old builds of SQLite allow 999."""


def find_texts(
    connection: sqlite3.Connection, origin: Origin, digests: Sequence[bytes]
) -> dict[bytes, int]:
    """Return the numbers of those texts that a session has."""
    return dict(_select(connection, "digest, number", "digest", origin, digests))


def get_texts(
    connection: sqlite3.Connection, origin: Origin, numbers: Sequence[int]
) -> dict[int, bytes]:
    """Return texts of a session by number."""
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


def add_texts(
    connection: sqlite3.Connection, run: RunId, origin: Origin, new: Mapping[bytes, bytes]
) -> dict[bytes, int] | None:
    """Add texts to a session; return their numbers, without those beyond its limit.

    None: the run is gone.
    """
    if not connection.execute(_HAS_RUN, (run,)).fetchone():
        return None
    names = astuple(origin)
    connection.execute(
        "INSERT OR IGNORE INTO piece_sessions (app, user, session) VALUES (?, ?, ?)", names
    )
    session = _session(connection, origin)
    (size,) = connection.execute(
        "SELECT bytes FROM piece_sessions WHERE number = ?", (session,)
    ).fetchone()
    numbers = find_texts(connection, origin, list(new))
    for digest, payload in new.items():
        if digest not in numbers and size + len(payload) <= contract.SESSION_BYTES:
            row = connection.execute(
                "INSERT INTO pieces (session, digest, payload) VALUES (?, ?, ?)",
                (session, digest, payload),
            )
            assert row.lastrowid is not None, "an insert has a row"
            numbers[digest] = row.lastrowid
            size += len(payload)
    connection.execute("UPDATE piece_sessions SET bytes = ? WHERE number = ?", (size, session))
    return numbers


def _drop_texts(connection: sqlite3.Connection, origin: Origin) -> None:
    session = _session(connection, origin)
    if session:
        connection.execute("DELETE FROM pieces WHERE session = ?", (session,))
        connection.execute("DELETE FROM piece_sessions WHERE number = ?", (session,))


def _session(connection: sqlite3.Connection, origin: Origin) -> int:
    """Return the number of a session, 0 if it has no texts."""
    found = connection.execute(
        "SELECT number FROM piece_sessions WHERE app = ? AND user = ? AND session = ?",
        astuple(origin),
    ).fetchone()
    return int(found[0]) if found else 0
