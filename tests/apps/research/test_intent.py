"""What a message means, in its situation: tables of words and what is made of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from adk_prism.grounding import GroundingBox, PanelAnswers, RemedyAction, SearchPlan
from adk_prism_apps.research.databases.query import Query
from adk_prism_apps.research.databases.registry import NAMES
from adk_prism_apps.research.intent.changes import read_changes
from adk_prism_apps.research.intent.decision import read_answer
from adk_prism_apps.research.intent.reader import IntentReader
from adk_prism_apps.research.intent.remedy import find_remedy
from adk_prism_apps.research.intent.request import read_request
from adk_prism_apps.research.planning.filters import filters_of, with_filters
from adk_prism_apps.research.planning.question import query_of

NOW = datetime(2026, 3, 1, 14, 23, 5, tzinfo=UTC)
PLAN = SearchPlan(database="D", query="a b", limit=50, tool="search_sample_library")

ANSWERS: dict[str | None, str] = {
    "ok": "ok|OK|Ok.|okay|yes|yes please|Yes, go ahead!|ok go ahead|sure|go|approve|looks good to me|"
    "proceed|do it now|yes, the full search please|okay then, run it",
    "short_run": "short run|Short Run please|a short run first|preview|ok, short run|quick look|probe first",
    "modify": "modify|adjust|change it|Modify please",
    "cancel": "cancel|no|no thanks|nope|skip|never mind|stop|don't search|cancel the search please",
    "unclear": "ok?|yes?|ok, cancel|cancel or short run",
    None: "not ok|book|token|joker|okapi|machine|this|I am not sure|ok since 2021|yesterday|nobody|"
    "explainable AI|modification of genes|stopwords|hmm||...|go fish|cancellation of contracts",
}


@pytest.mark.parametrize(
    ("words", "answer"),
    [(words, answer) for answer, each in ANSWERS.items() for words in each.split("|")],
)
def test_answers(words: str, answer: str | None) -> None:
    """The whole message has to be an answer; a word inside another word is none."""
    assert read_answer(words) == answer


CHANGES: dict[str, dict[str, Any]] = {
    "since 2021": {"since": 2021},
    "after 2019": {"since": 2020},
    "before 2019": {"until": 2018},
    "from 2015 to 2019": {"since": 2015, "until": 2019},
    "2019 - 2015": {"since": 2015, "until": 2019},
    "2020 to present": {"since": 2020},
    "year>=2020": {"since": 2020},
    "2020+": {"since": 2020},
    "the last five years": {"since": 2022},
    "past 3 years": {"since": 2024},
    "any year": {"any_year": True},
    "only reviews": {"kinds": ["review"]},
    "surveys only": {"kinds": ["review"]},
    "in arXiv instead": {"database": "arxiv"},
    "use Semantic Scholar": {"database": "semantic_scholar"},
    "top 20": {"limit": 20},
    "add radiology": {"add": ["radiology"]},
    "without images and video": {"drop": ["images", "video"]},
    "query: deep AND wide": {"query": "deep AND wide"},
    "fields: Medicine": {"fields": ["Medicine"]},
    "since 2021, in arXiv, only reviews": {
        "since": 2021,
        "database": "arxiv",
        "kinds": ["review"],
    },
}


@pytest.mark.parametrize("words", CHANGES)
def test_changes(words: str) -> None:
    """Each is understood, and nothing is left over."""
    found = read_changes(words, NOW.year, NAMES)
    assert found.rest == ""
    assert found.any
    assert {name: getattr(found, name) for name in CHANGES[words]} == CHANGES[words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("synthesise", "synthesize"),
        ("Please summarize what we have", "synthesize"),
        ("what did you find", "synthesize"),
        ("export", "export"),
        ("PRISMA please", "export"),
        ("validate", "validate"),
        ("help", "help"),
        ("Hello!", "help"),
        ("continue", "continue"),
        ("", "continue"),
        ("…", "continue"),
        ("hi-fi audio quality", None),
        (
            "summary statistics in meta-analysis of long and very detailed clinical trials of many drugs",
            None,
        ),
        ("machine learning", None),
        ("this", None),
    ],
)
def test_requests(text: str, expected: str | None) -> None:
    """A short message that names one; a question is none."""
    assert read_request(text) == expected


REMEDIES = [
    RemedyAction(name="try_synonyms", label="Try synonyms: a OR b"),
    RemedyAction(name="different_database", label="Search arXiv"),
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1", "try_synonyms"),
        ("option 2", "different_database"),
        ("the second one", "different_database"),
        ("primary", "try_synonyms"),
        ("Try Synonyms", "try_synonyms"),
        ("try_synonyms", "try_synonyms"),
        ("different database please", "different_database"),
        ("search arXiv", "different_database"),
        ("3", None),
        ("0", None),
        ("", None),
        ("broaden", None),
        ("synonyms for arxiv", None),
    ],
)
def test_remedies(text: str, name: str | None) -> None:
    """By number, name or words, if exactly one is meant."""
    found = find_remedy(text, REMEDIES)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (
            "What approaches exist for XAI in clinical decision support?",
            "XAI clinical decision support",
        ),
        ("find papers on graph neural networks", "graph neural networks"),
        ('Please look for "federated learning" in hospitals', '"federated learning" hospitals'),
        ("transformers OR attention", "transformers OR attention"),
        ("I would like to research the effect of caffeine on sleep", "effect caffeine sleep"),
        ("???", ""),
        ("", ""),
    ],
)
def test_queries(question: str, query: str) -> None:
    """The question's own words, without the asking around them; nothing is made up."""
    assert query_of(question) == query


@pytest.mark.parametrize(
    ("filters", "shown"),
    [
        ({"year": ">=2020"}, {"year": ">=2020"}),
        ({"year": 2020}, {"year": "2020-2020"}),
        ({"year": "2015-2019", "kind": "survey"}, {"year": "2015-2019", "kinds": ["review"]}),
        ({"since": "2019"}, {"year": ">=2019"}),
        ({"fields": ["Medicine", "CS"]}, {"fields": ["Medicine", "Computer Science"]}),
        ({"field": "all", "year": ""}, {}),
    ],
)
def test_filters(filters: dict[str, Any], shown: dict[str, Any]) -> None:
    """Read in the forms that panels write, written in one."""
    query, odd = with_filters(Query("x"), filters)
    assert (filters_of(query), odd) == (shown, [])


@pytest.mark.parametrize(
    "filters", [{"year": "soon"}, {"colour": "blue"}, {"fields": [1]}, {"year": []}]
)
def test_filters_that_cannot_be_read_are_named(filters: dict[str, Any]) -> None:
    """An empty one is none; any other is not applied in silence."""
    _, odd = with_filters(Query("x"), filters)
    assert len(odd) == (0 if filters == {"year": []} else 1)


def read(text: str, answers: PanelAnswers | None = None, **box: Any) -> Any:
    return IntentReader(text, GroundingBox(**box), answers or PanelAnswers(), NAMES, NOW).read()


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("ok", "search"),
        ("cancel", "cancelled"),
        ("modify", "ask_change"),
        ("modify: since 2021", "propose"),
        ("since 2021", "propose"),
        ("Find papers on graph neural networks", "propose"),
        ("why this database and not another one?", "ask_again"),
        ("continue", "ask_again"),
        ("help", "help"),
        ("export", "export"),
    ],
)
def test_with_a_plan(text: str, do: str) -> None:
    """What a message means while a plan waits."""
    assert read(text, pending_search_plan=PLAN).do == do


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("ok", "nothing_pending"),
        ("cancel", "nothing_pending"),
        ("1", "no_such_remedy"),
        ("continue", "continue"),
        ("explainable AI", "propose"),
        ("malaria", "propose"),
        ("since 2020", "no_question"),
        ("synthesise", "synthesize"),
    ],
)
def test_without_a_plan(text: str, do: str) -> None:
    """And while none does."""
    assert read(text).do == do


def test_no_decision_of_words_carries_an_approval_it_was_not_given() -> None:
    """Only two things approve: words that say so, and the panel's key."""
    for text in ("since 2021", "hmm", "why?", "modify", "help", "export", "explainable AI"):
        assert read(text, pending_search_plan=PLAN).writes.get("user_approval") not in (
            "ok",
            "short_run",
        )
