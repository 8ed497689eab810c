"""Digests in the file of a SQLite log: one row a run, its names in a table, its text in a full-text index.

The tables belong to the search, in the log's file. Triggers keep them in step with the table of runs: one
that ends waits for its digest, one that is removed takes its digest along. The index gets text that
`searchable` has cut into words, so its tokenizer splits at spaces, and a query is a list of quoted words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from adk_prism.errors import LogError
from adk_prism.features.captures.sqlite_reader import SqliteLogReader
from adk_prism.features.search import digest as digests
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
