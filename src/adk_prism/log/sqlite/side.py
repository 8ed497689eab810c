"""The side store of a SQLite log: values in one table, texts once per session in another.

Numbers of texts come from one sequence for all sessions and are never used again. The functions are SQL on a
connection and raise sqlite3's own errors; `SqliteSide` has them run where the log's own statements run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

from adk_prism.log.contract import (
    OWNER_VALUES,
    SESSION_BYTES,
    Owner,
    SideValue,
    owner_name,
    session_named,
    too_many,
)
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.run_state import trimmed

Answer = TypeVar("Answer")
Given = ParamSpec("Given")


class SqliteAccess(Protocol):
    """Runs SQL on the file of an open log. Raises `LogError`."""

    async def ask(
        self,
        question: Callable[Concatenate[sqlite3.Connection, Given], Answer],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Answer:
        """Read something, in the reading thread."""

    async def change(
        self,
        what: str,
        make: Callable[Concatenate[sqlite3.Connection, Given], Answer],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Answer:
        """Change something in a transaction of its own, in the writing thread; `what` is for the error."""


class SqliteSide:
    """Is a `SideStorage`."""

    def __init__(self, access: SqliteAccess) -> None:
        self._access = access

    async def put_value(self, owner: Owner, value: SideValue) -> None:
        answer = await self._access.change("A note could not be stored", put_value, owner, value)
        if answer == "full":
            raise too_many()
        if answer == "gone" and not isinstance(owner, Origin):
            raise trimmed(owner)

    async def delete_values(self, owner: Owner, value: tuple[str, str] | None = None) -> None:
        await self._access.change("A note could not be removed", delete_values, owner, value)

    async def list_values(self, owners: Collection[Owner]) -> dict[Owner, Sequence[SideValue]]:
        return await self._access.ask(list_values, owners)

    async def list_owners(self, space: str) -> Sequence[Origin]:
        return await self._access.ask(list_owners, space)

    async def find_texts(self, origin: Origin, digests: Sequence[bytes]) -> dict[bytes, int]:
        return await self._access.ask(find_texts, origin, digests)

    async def add_texts(
        self, run: RunId, origin: Origin, new: Mapping[bytes, bytes]
    ) -> dict[bytes, int]:
        numbers = await self._access.change(
            "Pieces could not be stored", add_texts, run=run, origin=origin, new=new
        )
        if numbers is None:
            raise trimmed(run)
        return numbers

    async def get_texts(self, origin: Origin, numbers: Sequence[int]) -> dict[int, bytes]:
        return await self._access.ask(get_texts, origin, numbers)


# --------------------------------------------------------------------------- values

_ROW = "owner = ? AND space = ? AND key = ?"


def put_value(
    connection: sqlite3.Connection, owner: Owner, value: SideValue
) -> Literal["ok", "gone", "full"]:
    """Store a value; *gone*: its run is not there, *full*: the owner has too many."""
    is_session = isinstance(owner, Origin)
    if not (is_session or connection.execute(_HAS_RUN, (owner,)).fetchone()):
        return "gone"
    row = (owner_name(owner), value.space, value.key)
    if not connection.execute(f"SELECT 1 FROM side_values WHERE {_ROW}", row).fetchone():
        count = connection.execute("SELECT count(*) FROM side_values WHERE owner = ?", row[:1])
        if count.fetchone()[0] >= OWNER_VALUES:
            return "full"
    connection.execute(
        "INSERT OR REPLACE INTO side_values VALUES (?, ?, ?, ?, ?, ?)",
        (*row, value.time, value.value, is_session),
    )
    return "ok"


_HAS_RUN = "SELECT 1 FROM runs WHERE run = ?"


def delete_values(
    connection: sqlite3.Connection, owner: Owner, value: tuple[str, str] | None
) -> None:
    """Remove a value, or all of an owner."""
    name = owner_name(owner)
    if value is None:
        connection.execute("DELETE FROM side_values WHERE owner = ?", (name,))
    else:
        connection.execute(f"DELETE FROM side_values WHERE {_ROW}", (name, *value))


def drop_owners(connection: sqlite3.Connection, run: RunId, origin: Origin) -> None:
    """Remove the values of a run that was removed, and all of its session if that has no runs."""
    delete_values(connection, run, None)
    has_runs = "SELECT 1 FROM runs WHERE app = ? AND user = ? AND session = ?"
    names = (origin.app, origin.user, origin.session)
    if not connection.execute(has_runs, names).fetchone():
        delete_values(connection, origin, None)
        _drop_texts(connection, origin)


def list_values(
    connection: sqlite3.Connection, owners: Collection[Owner]
) -> dict[Owner, Sequence[SideValue]]:
    """Return the values of those owners that have any, by space and key."""
    found: dict[Owner, Sequence[SideValue]] = {}
    for owner in owners:
        rows = connection.execute(
            "SELECT space, key, time, value FROM side_values WHERE owner = ? ORDER BY space, key",
            (owner_name(owner),),
        )
        values = [SideValue(*row) for row in rows]
        if values:
            found[owner] = values
    return found


def list_owners(connection: sqlite3.Connection, space: str) -> list[Origin]:
    """Return the sessions that have a value in a space."""
    rows = connection.execute(
        "SELECT DISTINCT owner FROM side_values WHERE space = ? AND is_of_session", (space,)
    )
    return [session_named(name) for (name,) in rows]


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
    if not connection.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone():
        return None
    names = (origin.app, origin.user, origin.session)
    connection.execute(
        "INSERT OR IGNORE INTO piece_sessions (app, user, session) VALUES (?, ?, ?)", names
    )
    session = _session(connection, origin)
    (size,) = connection.execute(
        "SELECT bytes FROM piece_sessions WHERE number = ?", (session,)
    ).fetchone()
    numbers = find_texts(connection, origin, list(new))
    for digest, payload in new.items():
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


def _drop_texts(connection: sqlite3.Connection, origin: Origin) -> None:
    session = _session(connection, origin)
    if session:
        connection.execute("DELETE FROM pieces WHERE session = ?", (session,))
        connection.execute("DELETE FROM piece_sessions WHERE number = ?", (session,))


def _session(connection: sqlite3.Connection, origin: Origin) -> int:
    """Return the number of a session, 0 if it has no texts."""
    found = connection.execute(
        "SELECT number FROM piece_sessions WHERE app = ? AND user = ? AND session = ?",
        (origin.app, origin.user, origin.session),
    ).fetchone()
    return int(found[0]) if found else 0
