"""Changes of a waiting plan: by words in any combination, by edits in the panel, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apps.research.talk import Talk
from tests.apps.research.test_turns import LOW, QUESTION, ResearchChat

from adk_prism.models import foreign_language
from adk_prism_apps.research.databases.query import Query
from adk_prism_apps.research.databases.registry import NAMES
from adk_prism_apps.research.intent.changes import changed_query, read_changes, read_filters
from adk_prism_apps.research.intent.scope import is_out_of_scope
from adk_prism_apps.research.planning.question import is_remark

YEAR = 2026

COMBINED: dict[str, dict[str, Any]] = {
    "since 2022 and only reviews": {"since": 2022, "kinds": ["review"]},
    "only reviews and since 2022": {"since": 2022, "kinds": ["review"]},
    "no, I'd rather have only surveys from 2021 on": {"since": 2021, "kinds": ["review"]},
    "could we limit it to systematic reviews from the 2010s?": {
        "since": 2010,
        "until": 2019,
        "kinds": ["review"],
    },
    "nothing before 2018": {"since": 2018},
    "not older than 2018": {"since": 2018},
    "newer than 2018, please": {"since": 2019},
    "2019 or newer but no preprints": {"since": 2019, "without_kinds": ["preprint"]},
    "reviews or theses only, last decade": {"since": 2017, "kinds": ["review", "thesis"]},
    "add radiology since 2020": {"add": ["radiology"], "since": 2020},
    "add explainability but drop images, at most 20 papers": {
        "add": ["explainability"],
        "drop": ["images"],
        "limit": 20,
    },
    "use transformers instead of CNNs": {"add": ["transformers"], "drop": ["CNNs"]},
    "I meant malaria, since 2015": {"topic": "malaria", "since": 2015},
    "change the query to deep learning, only articles": {
        "topic": "deep learning",
        "kinds": ["article"],
    },
    "remove the year filter": {"any_year": True},
    "drop all filters": {"any_year": True, "any_kind": True, "any_field": True},
    "not only reviews": {"any_kind": True},
    "in Google Scholar please": {"unsupported": "Google Scholar"},
    "peer-reviewed work only, in PubMed": {
        "kinds": ["article", "conference", "review"],
        "database": "pubmed",
    },
}


@pytest.mark.parametrize("words", COMBINED)
def test_changes_in_combination(words: str) -> None:
    """All of it is understood, nothing else is, and nothing is left over."""
    found = read_changes(words, YEAR, NAMES)
    changed = {
        name: getattr(found, name)
        for name in found.__slots__
        if getattr(found, name) not in (None, [], "", False)
    }
    assert changed == COMBINED[words]


@pytest.mark.parametrize(
    ("query", "words", "text"),
    [
        ("XAI images", "without images", "XAI"),
        ("XAI image", "drop images", "XAI"),
        ("XAI", "without images", "XAI NOT images"),
        ("XAI", "add deep learning", 'XAI "deep learning"'),
        ("XAI radiology", "add radiology", "XAI radiology"),
        ("CNNs in medicine", "use transformers instead of CNNs", "in medicine transformers"),
    ],
)
def test_changed_words(query: str, words: str, text: str) -> None:
    """A word that is left out goes, or is excluded if it was not there; none is there twice."""
    assert changed_query(Query(query), read_changes(words, YEAR, NAMES)).text == text


@pytest.mark.parametrize(
    "question",
    [
        "What approaches exist for XAI in clinical decision support?",
        "core stability training in athletes",
        "no free lunch theorem",
        "transfer learning without labels",
        "surveys of public opinion",
        "code review practices",
        "the dimensions of wellbeing",
    ],
)
def test_a_question_keeps_its_words(question: str) -> None:
    """What looks like a change inside a question is none."""
    assert read_filters(question, YEAR, NAMES).rest == question.strip("?") or (
        read_filters(question, YEAR, NAMES).rest == question
    )


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was ist über erklärbare KI bekannt?", "German"),
        ("bitte suche nach Arbeiten zu Malaria", "German"),
        ("intelligence artificielle explicable en médecine", "French"),
        ("¿Qué se sabe sobre la malaria?", "Spanish"),
        ("Wat is er bekend over malaria", "Dutch"),
        ("什么是可解释人工智能", "Chinese or Japanese"),
        ("Что известно про малярию", "Russian or another language in Cyrillic script"),
        ("El Niño drought", ""),
        ("Schrödinger equation solvers", ""),
        ("in vitro studies on de novo design", ""),
        ("alpha β receptor", ""),
        ("die casting in automotive", ""),
        ("explainable AI", ""),
    ],
)
def test_other_languages(text: str, language: str) -> None:
    """Told from function words or the script; a foreign name in a subject is English."""
    assert foreign_language(text) == language


OUT_OF_SCOPE = {
    True: "Write me a poem|write a poem about XAI|tell me a joke|what's the weather like|translate this|"
    "order me a pizza|Please compose a short song",
    False: "papers on poems|code review practices|program synthesis|play therapy in children|"
    "book recommendation systems|weather forecasting with deep learning|write the search strategy|"
    "call centers and stress|generate papers on stories",
}


@pytest.mark.parametrize(
    ("text", "expected"), [(t, e) for e, each in OUT_OF_SCOPE.items() for t in each.split("|")]
)
def test_requests_for_something_else(text: str, expected: bool) -> None:
    """A poem is not literature to search for, unless papers are asked for."""
    assert is_out_of_scope(text) is expected


REMARKS = {
    True: "my supervisor will love this|these results look old|that's a lot of papers|The results are old|"
    "can you speak German?|how old are you|this is for my thesis|I think transformers are overrated",
    False: "I need papers on sleep|I'm interested in malaria vaccines|We are working on wildfire smoke|"
    "the results of randomized trials in oncology|attention is all you need|I wonder how LIME works|"
    "my question is: does coffee help?",
}


@pytest.mark.parametrize(
    ("text", "expected"), [(t, e) for e, each in REMARKS.items() for t in each.split("|")]
)
def test_remarks(text: str, expected: bool) -> None:
    """A sentence about the people or the search is no question, unless it says what it looks for."""
    assert is_remark(text) is expected


TALKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # words, and the query and filters of the plan that waits at the end
    "a refusal with a wish": (
        f"{QUESTION}|no, I'd rather have only surveys from 2021 on",
        QUESTION,
        {"year": ">=2021", "kinds": ["review"]},
    ),
    "a refusal with another subject": (f"{QUESTION}|no, I meant saliency maps", "saliency maps", {}),
    "another subject and a filter": (
        f"{QUESTION}|cancel that and search for saliency since 2019",
        "saliency",
        {"year": ">=2019"},
    ),
    "an approval with a change": (f"{QUESTION}|ok, but since 2021", QUESTION, {"year": ">=2021"}),
    "a remark": (f"{QUESTION}|that's a lot of papers", QUESTION, {}),
    "words that are not understood": (f"{QUESTION}|frobnicate since 2019", QUESTION, {"year": ">=2019"}),
    "a change after a search": (f"{QUESTION}|ok|only reviews", QUESTION, {"kinds": ["review"]}),
    "a short run that finds little": (f"{LOW}|short run", LOW, {}),
    "and is changed": (f"{LOW}|short run|since 2015", LOW, {"year": ">=2015"}),
    "words in another language": ("query: salience des modèles NOT xyz|1", "salience", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in TALKS if name != "words in another language"])
async def test_what_plan_waits(name: str) -> None:
    """The plan holds what was said, and the research question is no remark."""
    words, query, filters = TALKS[name]
    chat = ResearchChat()
    await chat.say(*words.split("|"))
    box = await chat.box()
    assert box.pending_search_plan is not None
    assert (box.pending_search_plan.query, box.pending_search_plan.filters) == (query, filters)
    assert box.research_question in (QUESTION, LOW, query)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Write me a poem", "nothing else"),
        ("Was ist über erklärbare KI bekannt?", "German"),
        ("my supervisor will love this", "remark"),
    ],
)
async def test_what_no_search_answers(text: str, says: str) -> None:
    """It gets a sentence; there is no plan, no question and no file."""
    chat = ResearchChat()
    take = await chat.say(text)
    box = await chat.box()
    assert says in take.text
    assert (box.research_question, box.pending_search_plan, take.calls) == ("", None, [])


async def test_a_database_that_no_tool_asks() -> None:
    """It is named with those that can be asked, beside a plan that can run."""
    chat = ResearchChat()
    take = await chat.say(f"{QUESTION} in Google Scholar")
    assert "Google Scholar cannot be asked" in take.text
    assert "PubMed" in take.text
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    assert plan.query == QUESTION


EDITS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "question": ({"research_question": "saliency maps"}, "saliency maps", {}),
    "filters": ({"current_filters": {"year": ">=2021"}}, QUESTION, {"year": ">=2021"}),
    "assumptions": ({"search_assumptions": ["2020-present"]}, QUESTION, {"year": ">=2020"}),
}


@pytest.mark.parametrize("answer", ["ok", "continue", "modify", "confirm"])
@pytest.mark.parametrize("name", EDITS)
async def test_edits_in_the_panel_change_the_plan(talk: Talk, name: str, answer: str) -> None:
    """Whatever is said next, the plan is made anew and says why; it needs a new approval."""
    written, query, filters = EDITS[name]
    await talk.say(QUESTION)
    await talk.write(**written)
    turn = await (talk.confirm(True) if answer == "confirm" else talk.say(answer))
    box = (await talk.grounding()).box()
    plan = box.pending_search_plan
    assert plan is not None
    assert (plan.query, plan.filters) == (query, filters)
    assert f"the {name}" in plan.rationale
    assert "edited in the panel" in turn.text
    assert box.search_history == []
    await talk.say("ok")
    [receipt] = (await talk.grounding()).box().search_history
    assert (receipt.query, receipt.filters) == (query, filters)


async def test_a_plan_that_is_known_to_find_nothing() -> None:
    """Remedies at once, a misspelt word first; nothing is put up for approval, and nothing was searched."""
    chat = ResearchChat()
    take = await chat.say("counterfactul explanations")
    box = await chat.box()
    assert box.pending_search_plan is None
    assert box.search_history == []
    assert "adk_request_confirmation" not in take.calls
    assert box.last_search_failure is not None
    assert "counterfactual explanations" in box.last_search_failure.actions[0].label
    await chat.say("1")
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    assert plan.query == QUESTION


async def test_an_empty_search_can_be_put_on_record() -> None:
    """If the researcher wants it: the receipt says 0."""
    chat = ResearchChat()
    await chat.say("explainable wildfire", "search_anyway", "ok")
    [receipt] = (await chat.box()).search_history
    assert (receipt.results_count, receipt.total) == (0, 0)


async def test_a_misspelt_word_where_counting_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan asks about it, and changes nothing by itself."""
    from tests.app_runner import AppRunner

    from adk_prism_apps.research.agent import research_app

    chat = ResearchChat()
    chat.stage = AppRunner(research_app(0, environment={"ADK_PRISM_DATABASES": "arxiv"}))
    await chat.say("counterfactul explanations")
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    assert plan.query == "counterfactul explanations"
    assert "Did you mean `counterfactual explanations`?" in plan.rationale


async def test_what_the_library_does_not_know_is_said() -> None:
    """Of how many papers the authors and the citations are known, in the receipt."""
    chat = ResearchChat()
    take = await chat.say(QUESTION, "ok")
    [receipt] = (await chat.box()).search_history
    [note] = [each for each in receipt.warnings if "authors" in each]
    papers = take.response("search_sample_library")["papers"]
    known = sum(1 for paper in papers if paper.get("authors"))
    assert f"authors of {known} of {len(papers)}" in note
    assert note in take.text


async def test_a_confirmed_card_of_an_edited_plan_asks_again(talk: Talk) -> None:
    """The card showed another search: the new plan comes with a card of its own."""
    await talk.say(QUESTION)
    first = talk.pending()
    await talk.write(research_question="saliency maps")
    turn = await talk.confirm(True)
    assert turn.calls[-1] == "adk_request_confirmation"
    assert talk.pending() != first
