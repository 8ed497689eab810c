"""The sample library as a database: searched with words and filters, ordered by bm25, counted for free.

Nothing that is typed reaches SQLite as syntax: the query is parsed into plain words first, and each is
quoted. What it finds is a find in the sample library, and of no other database.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..databases.database import Mode, Page, Profile
from ..databases.paper import Paper
from ..databases.query import Query
from ..databases.syntax import Dialect, Term, parse, render
from .index import cache_folder, open_index
from .paper_file import COLUMNS, PaperFile, Row

_DIALECT = Dialect(
    term=lambda term: f'"{_words(term)}"', both=" AND ", either=" OR ", without=" NOT "
)
# A word in the title says most about a paper, then its subject, then where and by whom.
_ORDER = "bm25(words, 10.0, 2.0, 2.0, 4.0), papers.id"
_COLUMNS = ", ".join(f"papers.{name}" for name in COLUMNS)


def _words(term: Term) -> str:
    return " ".join(term.words)


class SampleLibrary:
    """Some hundreds of real papers. Safe to share between threads."""

    key = "sample_library"
    tool = "search_sample_library"
    mode: Mode = "offline"

    def __init__(self, paper_file: PaperFile | None = None, folder: Path | None = None) -> None:
        self._shelf = paper_file or PaperFile()
        self._folder = folder
        self._lock = threading.Lock()

    @property
    def label(self) -> str:
        return f"sample library, {self._shelf.size} papers"

    @property
    def cap(self) -> int:
        return self._shelf.size

    @property
    def profile(self) -> Profile:
        """Say what there is, and which databases have more."""
        return Profile(
            "a small selection: explainable AI, and some medicine and computing",
            fields=("Computer Science",),
            equivalents=("semantic_scholar", "openalex", "crossref"),
        )

    def find(self, query: Query) -> Page:
        """Return the best papers for the query, up to its limit, and how many there are."""
        where, values = _condition(query)
        if not where:
            return Page(total=0)
        found = self._rows(
            f"SELECT {_COLUMNS} FROM words JOIN papers ON papers.id = words.rowid"
            f" WHERE {where} ORDER BY {_ORDER} LIMIT ?",
            (*values, max(0, query.limit)),
        )
        return Page(tuple(_paper(row) for row in found), self.count(query))

    def search(self, query: Query) -> tuple[Paper, ...]:
        """Return the papers alone."""
        return self.find(query).papers

    def count(self, query: Query) -> int:
        """Return how many papers the query finds; it costs no request and needs no approval."""
        where, values = _condition(query)
        if not where:
            return 0
        sql = "SELECT count(*) FROM words JOIN papers ON papers.id = words.rowid WHERE "
        return int(self._rows(sql + where, values)[0][0])

    @cached_property
    def words(self) -> Mapping[str, int]:
        """Return every word of titles and topics, with the number of papers that have it."""
        return dict(self._rows("SELECT word, papers FROM spellings", ()))

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """Return the fields of the papers where they are known, the most common first."""
        listed = (topics for (topics,) in self._rows("SELECT topics FROM papers", ()))
        named = Counter(name for topics in listed for name in topics.split("; ") if name)
        return tuple(name for name, _ in named.most_common())

    def close(self) -> None:
        """Let go of the index; it is opened again when asked."""
        with self._lock:
            connection = self.__dict__.pop("_connection", None)
            if connection is not None:
                connection.close()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        return open_index(self._shelf, self._folder)

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()


def _condition(query: Query) -> tuple[str, tuple[Any, ...]]:
    """Return the WHERE of a query with its values; empty if there is no word to look for."""
    tree = parse(query.text)
    if not tree.parts:
        return "", ()
    clauses: list[tuple[str, tuple[Any, ...]]] = [("words MATCH ?", (render(tree, _DIALECT),))]
    if query.since is not None:
        clauses.append(("year >= ?", (query.since,)))
    if query.until is not None:
        clauses.append(("year <= ?", (query.until,)))
    for column, chosen in (("kind", query.kinds), ("field", query.fields)):
        if chosen:
            clauses.append((f"{column} IN ({','.join('?' * len(chosen))})", chosen))
    return (
        " AND ".join(clause for clause, _ in clauses),
        tuple(value for _, values in clauses for value in values),
    )


def _paper(found: tuple[Any, ...]) -> Paper:
    return Row(*(str(value) for value in found)).paper()


def sample_library() -> SampleLibrary:
    """Return the library of the bundled file, with its index in the user's cache folder."""
    return SampleLibrary(folder=cache_folder())
