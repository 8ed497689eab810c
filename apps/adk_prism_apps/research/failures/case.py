"""Everything that a judgement may be based on. Nothing here asks a service anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..databases.database import AnyDatabase, LocalDatabase
from ..databases.outcome import Outcome
from ..databases.query import Query
from .thesaurus import Concept, Thesaurus, spoken

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier search: the database's key, the query, and how many papers it has for it."""

    database: str
    query: Query
    count: int


@dataclass(frozen=True, slots=True)
class Probes:
    """Counts that were allowed, or cost nothing. All are of this query, changed in one place.

    `without` has the count if a filter (`year>=2020`) or a concept (`clinical`) is left out; `alone`
    that of a concept by itself; `elsewhere` that of the same query in another database, by key.
    """

    without: Mapping[str, int] = field(default_factory=dict)
    alone: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One search and what is known around it."""

    outcome: Outcome
    query: Query
    database: AnyDatabase
    databases: Mapping[str, AnyDatabase]
    thesaurus: Thesaurus
    expected: Range | None = None
    history: Sequence[Past] = ()
    probes: Probes = Probes()

    @property
    def count(self) -> int:
        """Return how many papers the database has, as far as it says; else how many came."""
        total = self.outcome.total
        return len(self.outcome.papers) if total is None else total

    @property
    def is_low(self) -> bool:
        """Return whether fewer papers came than expected; without an expectation, never."""
        return self.expected is not None and self.count < self.expected[0] and not self.is_cut

    @property
    def is_cut(self) -> bool:
        """Return whether the count is only that of the papers wanted: there may be any number more."""
        return self.outcome.total is None and len(self.outcome.papers) >= self.query.limit

    @property
    def concepts(self) -> tuple[Concept, ...]:
        """Return the query's concepts: known phrases, and the words left over."""
        return self.thesaurus.concepts(self.query.text)

    def measure(self, query: Query, database: AnyDatabase | None = None) -> int | None:
        """Count what a query would find, where that is free."""
        where = database or self.database
        return where.count(query) if isinstance(where, LocalDatabase) else None

    def elsewhere(self) -> dict[str, int]:
        """Return counts of the same query in other databases, from probes and from history."""
        same = asked(self.query)
        earlier = {
            past.database: past.count
            for past in self.history
            if past.database != self.database.key and asked(past.query) == same
        }
        return earlier | dict(self.probes.elsewhere)

    def earlier_here(self) -> int | None:
        """Return what the very same search found in this database the last time.

        A count that equals its limit may have been cut by it, and says nothing.
        """
        same = asked(self.query)
        counts = [
            past.count
            for past in self.history
            if past.database == self.database.key
            and asked(past.query) == same
            and past.count != past.query.limit
        ]
        return counts[-1] if counts else None

    def without_concept(self, concept: Concept) -> Query | None:
        """Return the query without one of its concepts; None if nothing would be left."""
        rest = [each for each in self.concepts if each != concept]
        return replace(self.query, text=spoken(rest)) if rest else None


def asked(query: Query) -> Query:
    """Return what a query asks for: its words in any order, its filters, not how many are wanted."""
    return replace(query, text=" ".join(sorted(query.text.lower().split())), limit=1)
