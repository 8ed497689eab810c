"""All SQL statements of a run log in SQLite, as functions on a connection.

Raises sqlite3's own errors. `runs` is written when a run starts, ends or gets a new owner; otherwise only
`entries` grows, in statements of many rows: the interpreter's lock may change hands with every statement,
and a busy event loop gives it back late.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adk_prism.errors import LogError, SourceError
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import Entry, Origin, Outcome, RunEnded, RunId, RunStarted, unpack
from adk_prism.log.group_commit import StoredRun
from adk_prism.log.retention import MAX_TOMBSTONES, EndedRun
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
    run = summary_of(start)
    origin = run.origin
    connection.execute(
        "INSERT INTO runs (number, run, app, user, session, invocation, message, started, epoch)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            run.run,
            origin.app,
            origin.user,
            origin.session,
            run.invocation,
            run.message,
            now,
            epoch,
        ),
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


_TABLES_OF_RUNS = (("entries", "run"), ("runs", "number"))


def remove_runs(connection: sqlite3.Connection, runs: Sequence[RunId]) -> None:
    """Remove runs with their entries, and remember their names."""
    for run in runs:
        for number in connection.execute(
            "SELECT number FROM runs WHERE run = ?", (run,)
        ).fetchall():
            for table, key in _TABLES_OF_RUNS:
                connection.execute(f"DELETE FROM {table} WHERE {key} = ?", number)
        connection.execute("INSERT OR IGNORE INTO tombstones (run) VALUES (?)", (run,))
    connection.execute(
        "DELETE FROM tombstones WHERE number <= (SELECT max(number) FROM tombstones) - ?",
        (MAX_TOMBSTONES,),
    )


# --------------------------------------------------------------------------- reading


def origin_of(connection: sqlite3.Connection, run: RunId) -> Origin | None:
    """Return where a run belongs, None if it is not stored."""
    found = connection.execute("SELECT app, user, session FROM runs WHERE run = ?", (run,))
    names = found.fetchone()
    return Origin(app=names[0], user=names[1], session=names[2]) if names else None


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
    return _runs_of(connection, wanted, ["ended IS NOT NULL"])


def runs_of(connection: sqlite3.Connection, wanted: Origin) -> list[StoredRun]:
    """Return the runs of an origin, ended or not; an empty string matches any."""
    return _runs_of(connection, wanted, ["1"])


def _runs_of(
    connection: sqlite3.Connection, wanted: Origin, where: Sequence[str]
) -> list[StoredRun]:
    given = {"app": wanted.app, "user": wanted.user, "session": wanted.session}
    named = [f"{column} = ?" for column, value in given.items() if value]
    return _select_runs(
        connection,
        " AND ".join([*where, *named]),
        [value for value in given.values() if value],
    )


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


RunRow = tuple[
    int, str, str, str, str, str, str, float, float | None, Outcome | None, int, int, int
]


def stored_run(row: RunRow) -> StoredRun:
    """Read a row of `RUN_COLUMNS`."""
    number, run, app, user, session, invocation, message, started, ended, outcome, *rest = row
    epoch, cursor, size = rest
    return StoredRun(
        number,
        RunSummary(
            run=RunId(run),
            origin=Origin(app=app, user=user, session=session),
            invocation=invocation,
            started=started,
            ended=ended,
            outcome=outcome,
            cursor=cursor,
            bytes=size,
            message=message,
            epoch=epoch,
        ),
    )


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
