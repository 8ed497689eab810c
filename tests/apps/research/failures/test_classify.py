"""Each class of failure from its evidence; each remedy runs as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from adk_prism_apps.research.databases import (
    Limiter,
    Outcome,
    Paper,
    Query,
    ServiceError,
    lint,
    search,
)
from adk_prism_apps.research.databases.registry import DATABASES
from adk_prism_apps.research.failures import (
    Action,
    Past,
    Probes,
    classify,
    expected_from_history,
    expected_locally,
    search_warnings,
    thesaurus,
)
from adk_prism_apps.research.library import SampleLibrary

LIBRARY = SampleLibrary()
ACM = DATABASES["acm"]
CLINICAL = Query("explainable AI clinical", since=2020, limit=50)


def papers(
    count: int, title: str = "A paper about something {}", **known: Any
) -> tuple[Paper, ...]:
    """Return synthetic papers."""
    return tuple(Paper(title.format(at), doi=f"10.1000/{at}", **known) for at in range(count))


def outcome(count: int, total: int | None = None, **known: Any) -> Outcome:
    """Return a synthetic outcome of one page."""
    return Outcome(papers(count), total, pages=1, requests=1, **known)


@dataclass(frozen=True)
class Case:
    """A search and what it is to be called; `rule` is the evidence's."""

    id: str
    outcome: Outcome
    type: str | None
    rule: str = ""
    query: Query = CLINICAL
    database: str = "acm"
    expected: tuple[int, int] | None = (12, 20)
    history: tuple[Past, ...] = ()
    probes: Probes = field(default_factory=Probes)


def _trouble(kind: Any, **known: Any) -> Outcome:
    return Outcome(error=ServiceError(kind, "synthetic", "Synthetic.", **known), requests=1)


LENS = papers(6, "Lens {} in soil and cement") + papers(6, "An explanation of a classifier, {}")
CASES = (
    Case("enough", outcome(15, 15), None),
    Case("three of twelve", outcome(3, 3), "database_coverage_gap", "gap.field"),
    Case("no expectation", outcome(3, 3), None, expected=None),
    Case("one at least", outcome(1, 1), None, expected=(1, 5)),
    Case(
        "low without a reason",
        outcome(3, 3),
        "too_few_results",
        "count.low",
        query=Query("sorting networks"),
    ),
    Case(
        "low here, more there",
        outcome(3, 3),
        "database_coverage_gap",
        "gap.elsewhere",
        query=Query("sorting networks"),
        history=(Past("openalex", Query("Sorting  networks", limit=10), 40),),
    ),
    Case(
        "low here, more there by a probe",
        outcome(3, 3),
        "database_coverage_gap",
        "gap.elsewhere",
        query=Query("sorting networks"),
        probes=Probes(elsewhere={"ieee": 19}),
    ),
    Case(
        "one concept is lacking",
        outcome(3, 3),
        "database_coverage_gap",
        "gap.concept",
        query=Query("sorting networks"),
        probes=Probes(
            without={"networks": 500, "sorting": 900}, alone={"sorting": 5, "networks": 90_000}
        ),
    ),
    Case("nothing", outcome(0, 0), "empty_results", "count.zero"),
    Case("nothing, unexpected or not", outcome(0, 0), "empty_results", expected=None),
    Case("too many", outcome(50, 4_000), "query_too_broad", "count.high"),
    Case("above the cap", outcome(50, 20_000), "query_too_broad", "total.above_cap", expected=None),
    Case("many, but nobody said how many", outcome(50, 4_000), None, expected=None),
    Case(
        "a short run of enough",
        outcome(10, 15),
        None,
        query=replace(CLINICAL, limit=10),
    ),
    Case("full without a total", outcome(10), None, query=replace(CLINICAL, limit=10)),
    Case(
        "another answer than before",
        outcome(3, 3),
        "inconsistent_results",
        "count.changed",
        history=(Past("acm", CLINICAL, 34),),
    ),
    Case(
        "a count that its limit cut before",
        outcome(34),
        None,
        expected=None,
        history=(Past("acm", replace(CLINICAL, limit=10), 10),),
    ),
    Case(
        "a total that does not come",
        outcome(3, 34),
        "inconsistent_results",
        "total.not_delivered",
        expected=None,
    ),
    Case(
        "two meanings by their words",
        Outcome(LENS, 12, pages=1),
        "ambiguous_terminology",
        "term.meanings",
        query=Query("LIME"),
    ),
    Case(
        "two meanings of an acronym",
        Outcome(
            papers(4, "Optimal transport maps {}")
            + tuple(replace(p, doi=p.doi + "b") for p in papers(4, "On occupational therapy, {}")),
            8,
            pages=1,
        ),
        "ambiguous_terminology",
        "term.meanings",
        query=Query("OT"),
        expected=None,
    ),
    Case(
        "nearly all closed",
        Outcome(papers(15, open_access=False), 15, pages=1),
        "access_restricted",
        "access.closed",
    ),
    Case("429", _trouble("rate_limited", retry_after=30.0, status=429), "rate_limited"),
    Case("no network", _trouble("network_error"), "network_error"),
    Case("silence", _trouble("timeout"), "timeout"),
    Case("no key", _trouble("auth_failed", status=401), "auth_failed", database="openalex"),
    Case("paywall", _trouble("access_restricted", status=402), "access_restricted"),
    Case("5xx", _trouble("service_error", status=503), "service_error"),
    Case(
        "an open quotation",
        _trouble("malformed_query"),
        "malformed_query",
        query=Query('an "open quotation'),
    ),
    Case(
        "ten thousand characters",
        _trouble("malformed_query"),
        "malformed_query",
        query=Query("explainable " * 900),
    ),
    Case("nothing to ask", _trouble("malformed_query"), "malformed_query", query=Query(" ?! ")),
)
WITHOUT_ACTION = {"nothing to ask"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_first_rule_that_holds_names_the_failure(case: Case) -> None:
    """Type, rule and numbers; everything can be stored as JSON."""
    failure = classify(
        case.outcome,
        case.query,
        DATABASES[case.database],
        expected=case.expected,
        history=case.history,
        probes=case.probes,
    )
    if case.type is None:
        assert failure is None
        return
    assert failure is not None
    assert failure.type == case.type
    assert case.rule in ("", failure.context["rule"])
    assert failure.context["database"] == DATABASES[case.database].label
    assert failure.context["results_count"] >= 0
    if case.expected:
        assert failure.context["expected"] == list(case.expected)
        assert failure.context["expected_count"] == case.expected[0]
    json.dumps(dict(failure.context))
    assert failure.remedies.ask_researcher.endswith(("?", "."))


@pytest.mark.parametrize("case", [case for case in CASES if case.type], ids=lambda case: case.id)
def test_remedies_can_be_run_as_they_are(case: Case) -> None:
    """A known database, a query without faults, and not the same search again unless to retry."""
    failure = classify(
        case.outcome,
        case.query,
        DATABASES[case.database],
        expected=case.expected,
        history=case.history,
        probes=case.probes,
    )
    assert failure is not None
    actions = [failure.remedies.primary, failure.remedies.fallback]
    if case.id in WITHOUT_ACTION:
        assert all(action is None or action.database != case.database for action in actions)
        return
    primary = failure.remedies.primary
    assert primary is not None
    for action in (action for action in actions if action is not None):
        assert action.database in DATABASES
        assert action.label
        assert not lint(action.query), action
        assert action.kind == "retry" or (action.database, action.query) != (
            case.database,
            case.query,
        )
    if failure.remedies.fallback is not None:
        assert primary != failure.remedies.fallback


@dataclass(frozen=True)
class Demo:
    """A search in the sample library that disappoints, and the class it has."""

    text: str
    type: str
    primary: str


DEMOS = (
    Demo("explainable AI clinical", "database_coverage_gap", "try_synonyms"),
    Demo("explainable AI healthcare", "database_coverage_gap", "try_synonyms"),
    Demo("explainable AI wildfire", "empty_results", "broaden_query"),
    Demo("countrefactual explanations", "empty_results", "fix_query"),
)


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.text)
async def test_the_sample_library_is_helped_and_recovered_from(demo: Demo) -> None:
    """Searched, found wanting, remedied with the primary action: more papers than before."""
    found = await _run(Action("retry", "", LIBRARY.key, Query(demo.text)))
    words = thesaurus()
    expected = expected_locally(LIBRARY, Query(demo.text), words)
    failure = classify(found, Query(demo.text), LIBRARY, expected=expected)
    assert failure is not None
    assert failure.type == demo.type
    primary = failure.remedies.primary
    assert primary is not None
    assert primary.kind == demo.primary
    better = await _run(primary)
    assert better.total == primary.count
    assert (better.total or 0) > (found.total or 0)
    again = classify(better, primary.query, LIBRARY, expected=expected)
    assert again is None or again.type == "query_too_broad"


async def _run(action: Action) -> Outcome:
    async with httpx.AsyncClient(verify=False) as client:
        return await search(LIBRARY, action.query, client=client, limiter=Limiter())


def test_numbers_explain_a_gap() -> None:
    """What each concept has alone, and what the query has without it."""
    expected = expected_locally(LIBRARY, Query("explainable AI clinical"), thesaurus())
    page = LIBRARY.find(Query("explainable AI clinical"))
    failure = classify(
        Outcome(page.papers, page.total, pages=1, mode="offline"),
        Query("explainable AI clinical"),
        LIBRARY,
        expected=expected,
    )
    assert failure is not None
    assert failure.context["concept"] == "clinical"
    assert failure.context["count_without"]["clinical"] > 200
    assert failure.remedies.fallback is not None
    assert failure.remedies.fallback.database == "pubmed", "which covers the missing field"


def test_a_key_is_asked_for_by_the_name_of_its_variable() -> None:
    """Never by anything else."""
    failure = classify(_trouble("auth_failed", status=401), CLINICAL, DATABASES["openalex"])
    assert failure is not None
    assert "OPENALEX_API_KEY" in failure.remedies.ask_researcher
    waiting = classify(_trouble("rate_limited", retry_after=30.0), CLINICAL, ACM)
    assert waiting is not None
    assert waiting.remedies.primary is not None
    assert (waiting.remedies.primary.kind, waiting.remedies.primary.after) == ("retry", 30.0)


def test_papers_that_came_before_a_trouble_are_counted() -> None:
    """A cut search says how many it kept."""
    cut = Outcome(papers(7), error=ServiceError("timeout", "no_answer", "Synthetic."), pages=1)
    failure = classify(cut, CLINICAL, ACM)
    assert failure is not None
    assert failure.context["papers_kept"] == 7


def test_expectations_come_from_counts_alone() -> None:
    """The same words in the same database before, or a free count; else there is none."""
    past = (Past("acm", replace(CLINICAL, text="clinical explainable AI"), 30),)
    assert expected_from_history(past, CLINICAL, "acm") == (15, 45)
    assert expected_from_history(past, replace(CLINICAL, since=None), "acm") is None
    assert expected_from_history(past, CLINICAL, "ieee") is None
    assert expected_from_history((), CLINICAL, "acm") is None
    assert expected_locally(LIBRARY, Query("wildfire"), thesaurus()) is None
    assert expected_locally(LIBRARY, Query('"open'), thesaurus()) is None


def test_cautions() -> None:
    """Known papers and unread ones are said, with their numbers."""
    found = outcome(10, 40, truncated=True)
    known = {f"doi:10.1000/{at}" for at in range(9)}
    assert [caution.type for caution in search_warnings(found, known)] == [
        "duplicate_heavy",
        "stale_or_truncated",
    ]
    assert "9 of 10" in search_warnings(found, known)[0].text
    assert "10 of 40" in search_warnings(found, known)[1].text
    assert search_warnings(outcome(10, 10), set()) == ()
