"""A plan for one search: database, query, filters, why, how many to expect, and what else there is.

What to expect is counted, never guessed: by an earlier search for the same words, a short run
included, or, in a library on this machine, by looking for the same concepts under their other names.
Where nothing counts it the plan says "unknown", and offers to find out with a short run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from adk_prism.grounding import GroundingBox, SearchPlan, SearchReceipt

from ..databases.database import AnyDatabase, Database, LocalDatabase
from ..databases.query import MOST_RESULTS, Query, lint
from ..failures import (
    Past,
    expected_from_history,
    expected_locally,
    thesaurus,
)
from ..failures.spelling import spelling
from ..failures.thesaurus import spoken
from . import filters as panel
from .assumptions import Assumed, assume
from .available_databases import AvailableDatabases
from .question import MOST_WORDS, left_out, query_of

SHORT_RUN = 10
"""Papers of a short run."""
FULL_RUN = 50
"""Papers of a whole one, unless the plan says otherwise: as many as a person looks through."""
_A_PAGE = 100
"""Papers that most services give at once."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan is wanted for; whatever is empty is chosen."""

    question: str
    text: str = ""
    database: str = ""
    filters: Query = Query("")  # noqa: RUF009 (frozen)
    limit: int = FULL_RUN
    why: str = ""
    counted: int | None = None
    """Papers that this very search was counted to find, where a remedy promised that."""
    even_if_empty: bool = False
    """The researcher wants the search although it is known to find nothing: for the record."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """How many papers to expect, and how that is known; without numbers: not known."""

    low: int | None = None
    high: int | None = None
    basis: str = ""
    by_words: int | None = None
    """What the very words of the query find, where that was counted: what a search then reports."""

    @property
    def range(self) -> tuple[int, int] | None:
        """Return the bounds; None where nothing is expected, in either sense."""
        return (self.low, self.high) if self.low is not None and self.high else None

    @property
    def text(self) -> str:
        """Return it as a plan shows it."""
        if self.low is None:
            return "unknown (nothing counts it for free; a short run finds out)"
        low = self.low if self.by_words is None else self.by_words
        number = f"{low}" if low == self.high else f"{low}-{self.high}"
        return f"{number} paper{'' if number == '1' else 's'} ({self.basis})"


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the search that it describes, and how many papers it expects."""

    plan: SearchPlan
    database: AnyDatabase
    query: Query
    expected: Expectation

    @property
    def finds_nothing(self) -> bool:
        """Whether it was counted, for free, that the search finds nothing."""
        return self.expected.high == 0


class Unplannable(ValueError):
    """A request that no search can be made of; the text says why and what to do."""


class Planner:
    """Makes plans."""

    def __init__(
        self, available: AvailableDatabases, names: Mapping[str, str], clock: Callable[[], datetime]
    ) -> None:
        """`names` are what people call databases; the clock tells which year it is."""
        self._available = available
        self._names = names
        self._clock = clock

    def plan(self, request: PlanRequest, box: GroundingBox) -> Planned:
        """Return a plan. Raise `Unplannable` for a question without a word to look for."""
        assumed = self._assumed(request, box.search_assumptions)
        text = assumed.query.text
        choice = self._available.choose(
            request.database or assumed.database,
            _searched_for(text, box.search_history),
            assumed.field,
        )
        limit = max(1, min(request.limit, MOST_RESULTS, choice.database.cap))
        query = replace(assumed.query, limit=limit)
        if faults := lint(query):
            raise Unplannable(" ".join(fault.detail for fault in faults))
        why = request.why
        if not request.text and (wider := _wider(choice.database, query)):
            why = (
                f"`{text}` itself finds nothing here, which costs nothing to know; other names do."
            )
            text, query = wider.text, wider
        if request.counted is not None:
            expected = Expectation(request.counted, request.counted, "counted here")
        else:
            expected = self.expect(choice.database, query, box.search_history)
        plan = SearchPlan(
            database=choice.database.label,
            query=text,
            filters=panel.filters_of(query),
            rationale=" ".join(
                part
                for part in (
                    why,
                    _rationale(choice.database),
                    choice.note,
                    assumed.text,
                    _without(left_out(request.question)) if not request.text else "",
                    self._spelling(choice.database, query),
                )
                if part
            ),
            expected_results=expected.text,
            cost_time=_cost(choice.database, limit),
            alternative=self._alternative(choice.database, text),
            mode=choice.database.mode,
            tool=choice.database.tool,
            limit=limit,
        )
        return Planned(plan, choice.database, query, expected)

    def _spelling(self, database: AnyDatabase, query: Query) -> str:
        """Ask about words that look misspelt, where the search cannot be counted before it is made."""
        known = self._available.words()
        if isinstance(database, LocalDatabase) or not known:
            return ""
        found = spelling(query.text, known)
        return f"Did you mean `{found}`? Say `query: {found}`." if found else ""

    def wanted(self, request: PlanRequest, box: GroundingBox) -> str:
        """Return the key of the database that was asked for; empty if any will do."""
        return request.database or self._assumed(request, box.search_assumptions).database

    def _assumed(self, request: PlanRequest, assumptions: Sequence[str]) -> Assumed:
        """Return the query of a request; words that somebody chose are not changed."""
        if request.text:
            return Assumed(replace(request.filters, text=request.text))
        query = replace(request.filters, text=query_of(request.question))
        # Without a subject there is nothing that an assumption could narrow.
        used = assumptions if query.text else ()
        return assume(used, query, self._clock().year, self._names)

    def expect(
        self, database: AnyDatabase, query: Query, history: Sequence[SearchReceipt]
    ) -> Expectation:
        """Return how many papers the query should find in the database."""
        earlier = expected_from_history(self.past(history), query, database.key)
        if earlier is not None:
            return Expectation(*earlier, "by the last search for these words")
        if isinstance(database, LocalDatabase):
            there = expected_locally(database, query, thesaurus())
            if there is not None:
                found = database.count(query)
                return Expectation(*there, _counted(found, there[1]), found)
            return Expectation(0, 0, "counted here: nothing under any name of the subject")
        return Expectation()

    def past(self, history: Sequence[SearchReceipt]) -> list[Past]:
        """Return earlier searches that counted something, for a judgement."""
        found: list[Past] = []
        for receipt in history:
            database = self._available.labelled(receipt.database)
            count = receipt.total if receipt.preview else receipt.total or receipt.results_count
            if database is not None and count is not None:
                query, _ = panel.with_filters(Query(receipt.query), receipt.filters)
                found.append(Past(database.key, query, count))
        return found

    def _alternative(self, database: AnyDatabase, text: str) -> str:
        others = [each for each in self._available.enabled() if each.key != database.key]
        if others:
            return f"The same query in {others[0].label}"
        names = [each for concept in thesaurus().concepts(text) for each in concept.synonyms]
        return f"Other names: {', '.join(names[:3])}" if names else "Fewer words, or other years"


def query_of_plan(plan: SearchPlan) -> Query:
    """Return the query that a plan describes; filters that cannot be read are left off."""
    query, _ = panel.with_filters(Query(plan.query, limit=plan.limit or FULL_RUN), plan.filters)
    return query


def _wider(database: AnyDatabase, query: Query) -> Query | None:
    """Return the query with other names of one concept, where its own words find nothing and those do.

    Only where counting is free; and not for words that somebody chose.
    """
    if not isinstance(database, LocalDatabase) or database.count(query):
        return None
    concepts = thesaurus().concepts(query.text)
    widened = [
        replace(
            query, text=spoken([*concepts[:at], each.widened(each.synonyms), *concepts[at + 1 :]])
        )
        for at, each in enumerate(concepts)
        if each.synonyms
    ]
    best = max((each for each in widened if not lint(each)), key=database.count, default=None)
    return best if best is not None and database.count(best) else None


def _searched_for(text: str, history: Sequence[SearchReceipt]) -> list[str]:
    """Return the databases that have been asked for these words, whole and not as a preview."""
    return [each.database for each in history if each.query == text and not each.preview]


def _counted(found: int, there: int) -> str:
    """Say what was counted: by the query's words, and under all names of its subject."""
    if found == there:
        return "counted here under all names of the subject"
    return f"counted here: {found} by these words, {there} under all names of the subject"


def _without(words: Sequence[str]) -> str:
    """Say which words of a long question are not searched for."""
    if not words:
        return ""
    return (
        f"All words of a query have to be in a paper, so the first {MOST_WORDS} are asked for; left out: "
        f"{', '.join(words)}. Say `query:` and the words to choose others."
    )


def _rationale(database: AnyDatabase) -> str:
    about = database.profile.about
    if database.mode == "offline":
        return f"The {database.label}, comes with the app and needs no network: {about}."
    return f"{database.label}: {about}."


def _cost(database: AnyDatabase, limit: int) -> str:
    if not isinstance(database, Database):
        return "no request, at once"
    pages = math.ceil(limit / _A_PAGE)
    seconds = max(1, round(pages * max(database.rate_limit.interval, 1.0)))
    return f"{pages} request{'s' if pages > 1 else ''}, about {seconds} s"
