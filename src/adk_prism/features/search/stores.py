"""Digests that a log keeps: in the file of a SQLite log, or in a log that several processes share.

In SQLite they are one row a run, its names in a table, its text in a full-text index.

The tables belong to the search, in the log's file. Triggers keep them in step with the table of runs: one
that ends waits for its digest, one that is removed takes its digest along. The index gets text that
`searchable` has cut into words, so its tokenizer splits at spaces, and a query is a list of quoted words.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import MsgspecError

from adk_prism.errors import LogError
from adk_prism.features.captures.stored_runs import SqliteLogReader
from adk_prism.features.search import digest as digests
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import RunId
from adk_prism.log.sqlite.queries import RUN_COLUMNS, stored_run
from adk_prism.log.sqlite.store import SqliteStore

_TABLES = (
    """CREATE TABLE IF NOT EXISTS digests (
    run      INTEGER PRIMARY KEY,
    tokens   INTEGER NOT NULL,
    duration REAL NOT NULL,
    digest   BLOB NOT NULL,
    version  INTEGER NOT NULL DEFAULT 0
)""",
    """CREATE TABLE IF NOT EXISTS digest_names (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    run  INTEGER NOT NULL,
    PRIMARY KEY (kind, name, run)
) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS digest_names_by_run ON digest_names (run)",
    # The text is cut into words before. `ascii` keeps all other characters inside their words.
    "CREATE VIRTUAL TABLE IF NOT EXISTS digest_text"
    " USING fts5(text, tokenize = 'ascii', prefix = '1 2')",
    # Ended runs without a digest of this version.
    "CREATE TABLE IF NOT EXISTS undigested (run INTEGER PRIMARY KEY)",
    """CREATE TRIGGER IF NOT EXISTS digest_of_ended AFTER UPDATE OF ended ON runs WHEN new.ended IS NOT NULL
BEGIN INSERT OR IGNORE INTO undigested VALUES (new.number); END""",
    """CREATE TRIGGER IF NOT EXISTS digest_of_removed AFTER DELETE ON runs
BEGIN
    DELETE FROM undigested WHERE run = old.number;
    DELETE FROM digests WHERE run = old.number;
    DELETE FROM digest_names WHERE run = old.number;
    DELETE FROM digest_text WHERE rowid = old.number;
END""",
)
_OF_A_DIGEST = (("digests", "run"), ("digest_names", "run"), ("digest_text", "rowid"))
"""Tables, and the columns with the number of a run."""


class SqliteSearch:
    """Is a `SearchIndex`."""

    def __init__(self, access: SqliteStore) -> None:
        self._access = access
        self._is_ready = False

    async def index(self, run: RunId, digest: digests.RunDigest) -> None:
        await self._prepare()
        await self._access.change(
            "A run could not be indexed", lambda it: put_digest(it, run, digest)
        )

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        await self._prepare()
        return await self._access.ask(lambda it: unindexed(it, limit))

    async def search(
        self, query: digests.RunQuery, *, limit: int, before: int | None = None
    ) -> digests.SearchPage:
        await self._prepare()
        return await self._access.ask(lambda it: search(it, query, limit, before))

    async def digests_of(self, runs: Sequence[RunId]) -> dict[RunId, digests.RunDigest]:
        return await self._access.ask(lambda it: read_digests(it, runs))

    async def _prepare(self) -> None:
        if not self._is_ready:
            await self._access.change("Runs could not be indexed", prepare_tables)
            self._is_ready = True


class SqliteSearchReader:
    """Searches the file of a log that another process may be writing."""

    def __init__(self, reader: SqliteLogReader) -> None:
        self._reader = reader

    async def search(
        self, query: digests.RunQuery, *, limit: int, before: int | None = None
    ) -> digests.SearchPage:
        if not await self._reader.ask(_is_prepared):
            raise LogError("The run log has no index yet. Start adk-prism serve with it once.")
        return await self._reader.ask(lambda it: search(it, query, limit, before))


# --------------------------------------------------------------------------- SQL


def _is_prepared(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'undigested'")
    return found.fetchone() is not None


def prepare_tables(connection: sqlite3.Connection) -> None:
    """Make the tables that a file lacks, and note which runs have no digest of this version."""
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(
        "INSERT OR IGNORE INTO undigested SELECT number FROM runs LEFT JOIN digests ON digests.run = number"
        " WHERE ended IS NOT NULL AND coalesce(digests.version, 0) < ?",
        (digests.DIGEST_VERSION,),
    )


def put_digest(connection: sqlite3.Connection, run: RunId, digest: digests.RunDigest) -> None:
    """Store the digest of an ended run, in place of an older one."""
    found = connection.execute(
        "SELECT number FROM runs WHERE run = ? AND ended IS NOT NULL", (run,)
    ).fetchone()
    if found is None:
        return
    (number,) = found
    for table, key in _OF_A_DIGEST:
        connection.execute(f"DELETE FROM {table} WHERE {key} = ?", found)
    connection.execute(
        "INSERT INTO digests (run, tokens, duration, digest, version) VALUES (?, ?, ?, ?, ?)",
        (number, digest.tokens, digest.duration, digests.encode_digest(digest), digest.version),
    )
    if digest.version >= digests.DIGEST_VERSION:
        connection.execute("DELETE FROM undigested WHERE run = ?", found)
    connection.executemany(
        "INSERT OR IGNORE INTO digest_names VALUES (?, ?, ?)",
        [(kind, name, number) for kind, name in digest.folded_names()],
    )
    connection.execute("INSERT INTO digest_text (rowid, text) VALUES (?, ?)", (number, digest.text))


def unindexed(connection: sqlite3.Connection, limit: int) -> list[RunId]:
    """Return ended runs without a digest of this version, the newest first."""
    rows = connection.execute(
        "SELECT runs.run FROM undigested JOIN runs ON number = undigested.run"
        " ORDER BY number DESC LIMIT ?",
        (limit,),
    )
    return [RunId(run) for (run,) in rows]


_Condition = tuple[str, tuple[object, ...]]


def search(
    connection: sqlite3.Connection, query: digests.RunQuery, limit: int, before: int | None
) -> digests.SearchPage:
    """Return the first runs that fit, after the one with the number `before`.

    Raise `UsageError` for a text without words, or if that run is gone and the order needs it.
    """
    for name, ask in {"fits_cost": query.fits_cost, "cost_of": query.cost_of}.items():
        connection.create_function(name, 1, lambda text, ask=ask: ask(digests.decode_used(text)))
    origin = list(_origin(query))
    after = [] if before is None else [_after(connection, query.order, before)]
    where, values = _joined([*origin, *_conditions(query), *after])
    way = "ASC" if query.order.is_ascending else "DESC"
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS}, digests.digest FROM runs JOIN digests ON digests.run = number"
        f" WHERE {where} ORDER BY {_MEASURES[query.order.by]} {way}, number {way} LIMIT ?",
        (*values, limit + 1),
    )
    found = []
    for *row, digest in rows:
        stored = stored_run(tuple(row))
        found.append(digests.FoundRun(stored.summary, digests.decode_digest(digest), stored.number))
    where, values = _joined(origin)
    waiting = connection.execute(
        f"SELECT 1 FROM undigested JOIN runs ON number = undigested.run WHERE {where} LIMIT 1",
        values,
    ).fetchone()
    return digests.page_of(found, limit, complete=waiting is None)


def read_digests(
    connection: sqlite3.Connection, runs: Sequence[RunId]
) -> dict[RunId, digests.RunDigest]:
    """Return the digests of some runs, of those that have one."""
    rows = connection.execute(
        "SELECT runs.run, digests.digest FROM runs JOIN digests ON digests.run = number"
        f" WHERE runs.run IN ({', '.join('?' * len(runs))})",
        tuple(runs),
    )
    return {RunId(run): digests.decode_digest(digest) for run, digest in rows}


_MEASURES: dict[digests.Measured, str] = {
    "started": "number",
    "duration": "digests.duration",
    "tokens": "digests.tokens",
    "cost": "cost_of(digests.digest)",
}
"""By what runs are put in order."""


def _after(connection: sqlite3.Connection, order: digests.Order, before: int) -> _Condition:
    """Return the condition that a run comes after another one. Raise `UsageError` if that is gone."""
    sign = ">" if order.is_ascending else "<"
    if order.by == "started":
        return f"number {sign} ?", (before,)
    measure = _MEASURES[order.by]
    found = connection.execute(
        f"SELECT {measure} FROM digests WHERE digests.run = ?", (before,)
    ).fetchone()
    if found is None:
        raise digests.page_is_gone()
    return f"({measure}, number) {sign} (?, ?)", (*found, before)


def _joined(conditions: list[_Condition]) -> tuple[str, tuple[object, ...]]:
    where = " AND ".join(text for text, _ in conditions) or "1"
    return where, tuple(value for _, values in conditions for value in values)


def _origin(query: digests.RunQuery) -> Iterator[_Condition]:
    given = {"app": query.app, "user": query.user, "session": query.session}
    yield from ((f"runs.{column} = ?", (value,)) for column, value in given.items() if value)


def _conditions(query: digests.RunQuery) -> Iterator[_Condition]:
    if query.outcome:
        yield "outcome = ?", (query.outcome,)
    yield from _within("started", query.started)
    yield from _within("digests.tokens", query.tokens)
    yield from _within("digests.duration", query.duration)
    if query.cost != digests.ANY:
        yield "fits_cost(digests.digest)", ()
    for kind, text in query.names.items():
        if text:
            yield (
                "number IN (SELECT n.run FROM digest_names n WHERE n.kind = ? AND n.name GLOB ?)",
                (kind, digests.name_glob(text)),
            )
    if query.without:
        yield "number NOT IN (SELECT n.run FROM digest_names n WHERE n.kind = ?)", (query.without,)
    terms = digests.search_terms(query.text)
    if terms:
        match = " ".join(f'"{term.strip()}"*' for term in terms)
        yield ("number IN (SELECT rowid FROM digest_text WHERE digest_text MATCH ?)", (match,))


def _within(column: str, bounds: digests.Bounds) -> Iterator[_Condition]:
    if bounds.least is not None:
        yield f"{column} >= ?", (bounds.least,)
    if bounds.most is not None:
        yield f"{column} <= ?", (bounds.most,)


# ---------------------------------------------------------------------------
#
# A log that keeps the digests itself, for all processes that share it.
#
# It has no full-text index, so a search looks at every digest, and their number is bounded. Each is read
# once by a process, and again when its revision says that it was replaced; the log says which still count.


MOST_DIGESTS = 2000
"""The newest runs that can be found: some 10 MB in the log, and twice that in every process that searches."""

_AT_A_TIME = 200
"""Digests fetched in one round trip: about a megabyte."""


@runtime_checkable
class DigestStore(Protocol):
    """What a log has as `digests` if it keeps them: one of each of its newest runs. Raises `LogError`."""

    async def put(self, run: RunId, digest: bytes, most: int) -> None:
        """Store the digest of a run that has ended and is still there; the oldest beyond `most` go."""

    async def get(self, runs: Collection[RunId]) -> Sequence[tuple[RunSummary, bytes | None]]:
        """Return those runs that are there, and their digests."""

    async def numbers(self, most: int) -> dict[RunId, int]:
        """Return the places of the newest runs that have a digest in the order of starts, newest first."""

    async def revisions(self) -> Mapping[RunId, bytes]:
        """Return what is another value whenever a digest is replaced."""

    async def newest(self, most: int) -> Sequence[RunId]:
        """Return those of the newest runs that may have ended, with and without a digest."""

    async def count_ended(self) -> int:
        """Return how many runs have ended."""


class SharedSearch:
    """Is a `SearchIndex`."""

    def __init__(self, store: DigestStore, most: int = MOST_DIGESTS) -> None:
        self._store = store
        self._most = most
        self._kept: dict[RunId, digests.KeptDigest] = {}
        """Copies of those that were searched."""
        self._revisions: Mapping[RunId, bytes] = {}
        """Of the copies."""

    async def index(self, run: RunId, digest: digests.RunDigest) -> None:
        """Store a digest; the oldest ones beyond the limit go."""
        await self._store.put(run, digests.encode_digest(digest), self._most)

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        """Return runs among the newest that have ended and have no digest of this version."""
        newest = await self._store.newest(self._most)
        await self._refresh()
        # The log may name one that is gone.
        found = await self._store.get([run for run in newest if not self._has(run)])
        return [summary.run for summary, _ in found if summary.outcome is not None][:limit]

    def _has(self, run: RunId) -> bool:
        return run in self._kept and self._kept[run].digest.version >= digests.DIGEST_VERSION

    async def search(
        self, query: digests.RunQuery, *, limit: int, before: int | None = None
    ) -> digests.SearchPage:
        """Return the first runs that fit, in the order of the query."""
        names = await self._refresh()
        complete = len(names) >= await self._store.count_ended()
        kept = (self._kept[run] for run in names if run in self._kept)
        return digests.scan(kept, query, limit, before, complete=complete)

    async def digests_of(self, runs: Sequence[RunId]) -> dict[RunId, digests.RunDigest]:
        """Return the digests of some runs, as far as the last search saw them."""
        return {run: self._kept[run].digest for run in runs if run in self._kept}

    async def _refresh(self) -> list[RunId]:
        """Read the digests that are not here yet; return the runs that have one, the newest first."""
        numbers = await self._store.numbers(self._most)
        await self._forget_replaced()
        self._kept = {run: kept for run, kept in self._kept.items() if run in numbers}
        added = [run for run in numbers if run not in self._kept]
        for start in range(0, len(added), _AT_A_TIME):
            for summary, stored in await self._store.get(added[start : start + _AT_A_TIME]):
                if stored:
                    self._keep(numbers[summary.run], summary, stored)
            await asyncio.sleep(0)
        return list(numbers)

    async def _forget_replaced(self) -> None:
        # Before the digests are read: one that is replaced meanwhile is then read once more.
        now = await self._store.revisions()
        for run, revision in now.items():
            if self._revisions.get(run) != revision:
                self._kept.pop(run, None)
        self._revisions = now

    def _keep(self, number: int, summary: RunSummary, stored: bytes) -> None:
        try:
            digest = digests.decode_digest(stored)
        except MsgspecError:  # Of another version; it is made again.
            return
        self._kept[summary.run] = digests.keep(number, summary, digest)
