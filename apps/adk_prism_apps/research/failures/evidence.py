"""The rules that detect a disappointing search; each returns its numbers, or None.

Pure: what could be measured was measured before. `rule` names the rule in the answer, so that anyone
can look up why something was called what it was called.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..databases.database import LocalDatabase
from ..databases.paper import Paper
from ..databases.query import Query, lint
from ..databases.syntax import Term, parse, stem, words_of
from .case import Case

Numbers = dict[str, Any]

# The same search a second time may differ by a few; not by half.
_SAME_AGAIN = 2.0
_NOTABLE = 5
# A second meaning counts if a quarter of the papers, and not a stray one or two, have it.
_SECOND_MEANING = 0.25
_FEWEST_OF_MEANING = 3
# A concept that a database nearly lacks: a tenth of what would be expected of the whole query.
_NEARLY_LACKING = 0.1
_CLOSED_SHARE = 0.9
_FEWEST_KNOWN = 5


def operational(case: Case) -> Numbers | None:
    """Something went wrong between us and the service, or the query cannot be sent."""
    error = case.outcome.error
    if error is None:
        return None
    numbers: Numbers = {"rule": error.rule, "detail": error.detail}
    if error.status is not None:
        numbers["http_status"] = error.status
    if error.retry_after is not None:
        numbers["retry_after_s"] = error.retry_after
    if error.kind in ("auth_failed", "rate_limited"):
        numbers["key_variable"] = getattr(case.database, "key_variable", "")
    if error.kind == "malformed_query":
        numbers["faults"] = [fault.rule for fault in lint(case.query)]
    return numbers | {"requests": case.outcome.requests, "papers_kept": len(case.outcome.papers)}


def inconsistent(case: Case) -> Numbers | None:
    """The same search gave another answer before, or the service contradicts itself."""
    before, now = case.earlier_here(), case.count
    if before is not None and not case.is_cut and abs(before - now) >= _NOTABLE:
        larger, smaller = max(before, now), min(before, now)
        if larger >= _SAME_AGAIN * smaller:
            return {"rule": "count.changed", "earlier_count": before}
    total, came = case.outcome.total, len(case.outcome.papers) + case.outcome.repeated
    wanted = min(total or 0, case.query.limit)
    complete = not case.outcome.truncated or case.outcome.pages < 2
    unread = case.outcome.total is not None and came < wanted and wanted - came >= _NOTABLE
    if unread and complete and wanted >= _SAME_AGAIN * came:
        return {"rule": "total.not_delivered", "total": total, "received": came}
    return None


def empty(case: Case) -> Numbers | None:
    """Nothing at all."""
    if case.count or case.outcome.papers:
        return None
    return {"rule": "count.zero", **_measured(case)}


def coverage_gap(case: Case) -> Numbers | None:
    """Too few, and the reason is this database."""
    if not case.is_low or case.expected is None:
        return None
    low = case.expected[0]
    elsewhere = {key: count for key, count in case.elsewhere().items() if count >= low}
    if elsewhere:
        return {"rule": "gap.elsewhere", "elsewhere": elsewhere, **_measured(case)}
    if lacking := _lacking(case):
        return {"rule": "gap.concept", "concept": lacking, **_measured(case)}
    uncovered = [
        concept.text
        for concept in case.concepts
        if concept.field and not case.database.profile.covers(concept.field)
    ]
    if uncovered:
        covered = list(case.database.profile.fields)
        return {"rule": "gap.field", "concepts": uncovered, "covers": covered, **_measured(case)}
    return None


def ambiguous(case: Case) -> Numbers | None:
    """The papers speak of different things under one word."""
    papers = case.outcome.papers
    for term in _single_words(case.query):
        meanings = _meanings(case, term, papers)
        second = sorted(meanings.values(), reverse=True)[1:2]
        needed = max(_FEWEST_OF_MEANING, _SECOND_MEANING * len(papers))
        if second and second[0] >= needed:
            return {"rule": "term.meanings", "term": term, "meanings": meanings}
    return None


def too_few(case: Case) -> Numbers | None:
    """Fewer than expected, for no reason that is known."""
    return {"rule": "count.low", **_measured(case)} if case.is_low else None


def too_broad(case: Case) -> Numbers | None:
    """More than expected, or more than the database gives out at all."""
    total, cap = case.outcome.total, case.database.cap
    if total is not None and total > cap:
        return {"rule": "total.above_cap", "total": total, "cap": cap}
    if case.expected is not None and case.count > case.expected[1]:
        return {"rule": "count.high", "total": case.count}
    return None


def restricted(case: Case) -> Numbers | None:
    """Nearly all papers are closed."""
    known = [paper.open_access for paper in case.outcome.papers if paper.open_access is not None]
    closed = known.count(False)
    if len(known) >= _FEWEST_KNOWN and closed >= _CLOSED_SHARE * len(known):
        return {"rule": "access.closed", "closed": closed, "access_known": len(known)}
    return None


def _measured(case: Case) -> Numbers:
    """Return the counts that were probed, or that a local database gives for free."""
    without, alone = dict(case.probes.without), dict(case.probes.alone)
    if isinstance(case.database, LocalDatabase) and not (without or alone):
        for concept in case.concepts:
            rest = case.without_concept(concept)
            if rest is not None:
                without[concept.text] = case.database.count(rest)
                alone[concept.text] = case.measure(_alone(case.query, concept.text)) or 0
    found: Numbers = {}
    if without:
        found["count_without"] = without
    if alone:
        found["count_alone"] = alone
    return found


def _alone(query: Query, text: str) -> Query:
    return Query(text, query.since, query.until, query.fields, query.kinds, query.limit)


def _lacking(case: Case) -> str:
    """Return the one concept that this database nearly lacks, while the rest of the query is there."""
    numbers = _measured(case)
    without: dict[str, int] = numbers.get("count_without", {})
    alone: dict[str, int] = numbers.get("count_alone", {})
    if case.expected is None or len(without) < 2:
        return ""
    low = case.expected[0]
    names = {concept.text for concept in case.concepts}
    scarce = [
        name
        for name, rest in without.items()
        if name in names and rest >= low and alone.get(name, case.count) <= _scarce_below(low, rest)
    ]
    return scarce[0] if len(scarce) == 1 else ""


def _scarce_below(low: int, rest: int) -> float:
    return max(low - 1, _NEARLY_LACKING * rest)


def _single_words(query: Query) -> list[str]:
    """Return the query's words if there are so few that one of them may decide alone."""
    parts = parse(query.text).parts
    words = [part.words[0] for part in parts if isinstance(part, Term) and len(part.words) == 1]
    return words if len(parts) <= 2 else []


def _meanings(case: Case, term: str, papers: tuple[Paper, ...]) -> dict[str, int]:
    """Count papers by the meaning of a word: the thesaurus's, or what an acronym is spelt out as."""
    texts = [f"{paper.title} {paper.venue} {' '.join(paper.fields)}" for paper in papers]
    senses = case.thesaurus.senses(term)
    if senses:
        marks = {sense.name: {stem(word.lower()) for word in sense.marks} for sense in senses}
        found = Counter[str]()
        for text in texts:
            stems = {stem(word) for word in words_of(text)}
            found.update(name for name, signs in marks.items() if signs & stems)
        return dict(found)
    if term.isupper() and 2 <= len(term) <= 6:
        return dict(Counter(spelt for text in texts if (spelt := _spelt_out(term, text))))
    return {}


_SMALL_WORDS = frozenset("of and the for in on to with".split())


def _spelt_out(acronym: str, text: str) -> str:
    """Return the words of a text whose initials are the acronym."""
    words = [word for word in words_of(text) if word not in _SMALL_WORDS]
    size = len(acronym)
    for start in range(len(words) - size + 1):
        window = words[start : start + size]
        if "".join(word[0] for word in window) == acronym.lower():
            return " ".join(window)
    return ""
