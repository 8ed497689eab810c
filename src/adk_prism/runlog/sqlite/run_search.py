"""The SQL of digests: one row a run, its names in a table, its text in a full-text index.

The index gets text that `search_text` has cut into words, so its tokenizer only splits at spaces, and a query
is a list of quoted words. Raises sqlite3's own errors.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from adk_prism.runlog.contract import FoundRun, SearchPage
from adk_prism.runlog.entry import RunId
from adk_prism.runlog.in_memory_search import page_of
from adk_prism.runlog.run_digest import (
    DIGEST_VERSION,
    RunDigest,
    decode_digest,
    decode_used,
    encode_digest,
)
from adk_prism.runlog.run_query import ANY, Bounds, NamePattern, RunQuery, name_pattern
from adk_prism.runlog.search_text import search_terms
from adk_prism.runlog.sqlite.queries import DIGEST_TABLES, RUN_COLUMNS, stored_run


def put_digest(connection: sqlite3.Connection, run: RunId, digest: RunDigest) -> None:
    """Store the digest of an ended run, in place of an older one."""
    found = connection.execute(
        "SELECT number FROM runs WHERE run = ? AND ended IS NOT NULL", (run,)
    ).fetchone()
    if found is None:
        return
    (number,) = found
    for table, key in DIGEST_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE {key} = ?", found)
    connection.execute(
        "INSERT INTO digests VALUES (?, ?, ?, ?)",
        (number, digest.tokens, digest.duration, encode_digest(digest)),
    )
    connection.execute("UPDATE runs SET indexed = ? WHERE number = ?", (digest.version, number))
    connection.executemany(
        "INSERT OR IGNORE INTO digest_names VALUES (?, ?, ?)",
        [(kind, name, number) for kind, name in digest.folded_names()],
    )
    connection.execute("INSERT INTO digest_text (rowid, text) VALUES (?, ?)", (number, digest.text))


def unindexed(connection: sqlite3.Connection, limit: int) -> list[RunId]:
    """Return ended runs without a digest of this version, the newest first."""
    rows = connection.execute(
        f"SELECT run FROM runs WHERE {_UNINDEXED} ORDER BY number DESC LIMIT ?",
        (DIGEST_VERSION, limit),
    )
    return [RunId(run) for (run,) in rows]


_UNINDEXED = "ended IS NOT NULL AND indexed < ?"

_Condition = tuple[str, tuple[object, ...]]


def search(
    connection: sqlite3.Connection, query: RunQuery, limit: int, before: int | None
) -> SearchPage:
    """Return the newest runs that fit. Raise `UsageError` for a text without words."""
    connection.create_function("fits_cost", 1, lambda text: query.fits_cost(decode_used(text)))
    origin = list(_origin(query))
    where, values = _joined([*origin, *_conditions(query, before)])
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS}, digests.digest FROM runs JOIN digests ON digests.run = number"
        f" WHERE {where} ORDER BY number DESC LIMIT ?",
        (*values, limit + 1),
    )
    found = []
    for *row, digest in rows:
        stored = stored_run(tuple(row))
        found.append(FoundRun(stored.summary, decode_digest(digest), stored.number))
    where, values = _joined([*origin, (_UNINDEXED, (DIGEST_VERSION,))])
    waiting = connection.execute(f"SELECT 1 FROM runs WHERE {where} LIMIT 1", values).fetchone()
    return page_of(found, limit, complete=waiting is None)


def _joined(conditions: list[_Condition]) -> tuple[str, tuple[object, ...]]:
    where = " AND ".join(text for text, _ in conditions) or "1"
    return where, tuple(value for _, values in conditions for value in values)


def _origin(query: RunQuery) -> Iterator[_Condition]:
    given = {"app": query.app, "user": query.user, "session": query.session}
    yield from ((f"runs.{column} = ?", (value,)) for column, value in given.items() if value)


def _conditions(query: RunQuery, before: int | None) -> Iterator[_Condition]:
    if before is not None:
        yield "number < ?", (before,)
    if query.outcome:
        yield "outcome = ?", (query.outcome,)
    yield from _within("started", query.started)
    yield from _within("digests.tokens", query.tokens)
    yield from _within("digests.duration", query.duration)
    if query.cost != ANY:
        yield "fits_cost(digests.digest)", ()
    for kind, text in query.names.items():
        if text:
            test, value = _named(name_pattern(text))
            yield (
                f"number IN (SELECT n.run FROM digest_names n WHERE n.kind = ? AND n.name {test} ?)",
                (kind, value),
            )
    if query.without:
        yield "number NOT IN (SELECT n.run FROM digest_names n WHERE n.kind = ?)", (query.without,)
    terms = search_terms(query.text)
    if terms:
        match = " ".join(f'"{term.strip()}"*' for term in terms)
        yield (
            "number IN (SELECT rowid FROM digest_text WHERE digest_text MATCH ?)",
            (match,),
        )


def _within(column: str, bounds: Bounds) -> Iterator[_Condition]:
    if bounds.least is not None:
        yield f"{column} >= ?", (bounds.least,)
    if bounds.most is not None:
        yield f"{column} <= ?", (bounds.most,)


def _named(pattern: NamePattern) -> tuple[str, str]:
    if not (pattern.begins or pattern.ends):
        return "=", pattern.part
    # Only the stars at the ends are patterns of GLOB: what else would be one stands in brackets.
    plain = "".join(f"[{c}]" if c in "*?[" else c for c in pattern.part)
    return "GLOB", f"{'*' * pattern.begins}{plain}{'*' * pattern.ends}"
