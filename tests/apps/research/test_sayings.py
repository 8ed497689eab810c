"""Changes as people say them: in chat spelling, after help, negated, with talk around; and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apps.research.talk import Talk
from tests.apps.research.test_turns import ResearchChat

from adk_prism_apps.research.databases.query import Query
from adk_prism_apps.research.databases.registry import NAMES
from adk_prism_apps.research.intent.changes import changed_query, read_changes
from adk_prism_apps.research.intent.chat_words import written_out
from adk_prism_apps.research.planning.question import is_remark, query_of

YEAR = 2026
CHANGES: dict[str, dict[str, Any]] = {
    "drop everything before 2019": {"since": 2019},
    "I don't want reviews": {"without_kinds": ["review"]},
    "nor preprints": {"without_kinds": ["preprint"]},
    "please not older than five years": {"since": 2021},
    "exclude surveys but keep it recent": {"since": 2022, "without_kinds": ["review"]},
    "fewer, say 15": {"limit": 15},
    "too many, 15 is enough": {"limit": 15},
    "i changed my mind, back to all years": {"any_year": True},
    "the years are wrong, should be 2016 until 2018": {"since": 2016, "until": 2018},
    "no wait 2017-2020": {"since": 2017, "until": 2020},
    "2020": {"since": 2020, "until": 2020},
    "reviews": {"kinds": ["review"]},
    "limit to the 20 most cited ones": {"limit": 20, "cannot": ["most cited"]},
    "open access only": {"cannot": ["open access"]},
    "not medicine, law": {"drop": ["medicine"], "add": ["law"]},
    "not deep learning but transformers": {"drop": ["deep learning"], "add": ["transformers"]},
    "instead of AI let's say machine learning": {"drop": ["AI"], "add": ["machine learning"]},
    "also include contrastive explanations": {"add": ["contrastive explanations"]},
    "i asked about music": {"topic": "music"},
    "only the studies with humans": {"only": ["humans"]},
    "screening only": {"only": ["screening"]},
    "only the good ones": {},
    "just curious": {},
    "the same but for nurses": {"add": ["nurses"]},
    "before 2015 or after 2020": {"cannot": ["before 2015 or after 2020"]},
    "rather something on fairness instead": {"topic": "fairness"},
    "could we restrict it to conference papers published after 2018?": {
        "since": 2019,
        "kinds": ["conference"],
    },
}


@pytest.mark.parametrize("words", CHANGES)
def test_changes_as_they_are_said(words: str) -> None:
    """All of it is read; nothing is turned into its opposite, and nothing is left over."""
    found = read_changes(words, YEAR, NAMES)
    changed = {
        name: getattr(found, name)
        for name in found.__slots__
        if getattr(found, name) not in (None, [], "", False)
    }
    assert changed == CHANGES[words]


def test_a_group_of_names_goes_as_a_whole() -> None:
    """Other names that a plan added for a word leave with it; no operator is left alone."""
    query = Query('deep learning (radiology OR "medical imaging" OR MRI)')
    changed = changed_query(query, read_changes("swap radiology for pathology", YEAR, NAMES))
    assert changed.text == "deep learning pathology"


@pytest.mark.parametrize(
    ("query", "said", "text"),
    [
        ("SHAP credit scoring", "too narrow, just SHAP", "SHAP"),
        ("cancer", "screening only", "cancer screening"),
    ],
)
def test_what_a_query_is_narrowed_to(query: str, said: str, text: str) -> None:
    """A part of it stays alone; another word is added, and never replaces the subject."""
    assert changed_query(Query(query), read_changes(said, YEAR, NAMES)).text == text


async def test_words_after_an_edit_in_the_panel_keep_the_edit(talk: Talk) -> None:
    """Both are in the plan, which says what was edited."""
    await talk.say("explainable AI")
    await talk.write(research_question="saliency maps", current_filters={"year": ">=2015"})
    turn = await talk.say("thx, but no preprints")
    plan = (await talk.grounding()).box().pending_search_plan
    assert plan is not None
    assert (plan.query, plan.filters["year"]) == ("saliency maps", ">=2015")
    assert "preprint" not in plan.filters["kinds"]
    assert "edited in the panel" in turn.text


@pytest.mark.parametrize("said", ["hmm wait", "hold on", "wait a sec", "not yet please"])
async def test_who_says_wait_is_waited_for(talk: Talk, said: str) -> None:
    """Words are newer than an approval in the panel: nothing is searched, and the plan waits on."""
    await talk.say("explainable AI")
    await talk.run(
        {"role": "user", "parts": [{"text": said}]}, stateDelta={"grounding:user_approval": "ok"}
    )
    box = (await talk.grounding()).box()
    assert box.search_history == []
    assert box.pending_search_plan is not None


QUERIES = {
    "I want to know whether explanations help doctors": "explanations help doctors",
    "find papers on inequality": "inequality",
    "papers on ontology learning": "ontology learning",
    "show usability studies of maps": "usability maps",
    "Good morning, I am PhD student from Brazil, I need articles that speak of federated learning": (
        "federated learning"
    ),
    "find me some papers about graph neural networks dumbass": "graph neural networks",
    "find papers on explainable AI, merci": "explainable AI",
    "explainable AI again": "explainable AI",
}


@pytest.mark.parametrize("question", QUERIES)
def test_the_subject_of_a_question(question: str) -> None:
    """Whole words of the subject alone, without who asks and how."""
    assert query_of(question) == QUERIES[question]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("pls find papres abuot U-Net", "please find papers about U-Net"),
        ("thx", "thanks"),
        ("query: u pls", "query: u pls"),
        ("ID and U in uranium", "ID and U in uranium"),
        ("u-shaped curves", "u-shaped curves"),
    ],
)
def test_chat_spellings(text: str, written: str) -> None:
    """Words of asking are written out; names, and what somebody wants searched as it is, are not."""
    assert written_out(text) == written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("is this peer reviewed?", True),
        ("why that database?", True),
        ("undo that", True),
        ("is it safe to use language models in hospitals?", False),
        ("why do people trust explanations?", False),
    ],
)
def test_questions_about_the_search(text: str, expected: bool) -> None:
    """They are none for the literature."""
    assert is_remark(text) is expected


EMPTY = "quantum explanations"
AFTER_HELP: dict[str, tuple[str, str]] = {
    # what is said after a plan that was counted to find nothing, and the query of the help or plan then
    "a filter": ("please not older than five years", EMPTY),
    "a word for another": ("not quantum, contrastive", "explanations contrastive"),
    "another subject": ("nah, rather saliency maps", "saliency maps"),
    "a number": ("fewer, say 15", EMPTY),
    "thanks": ("thx", EMPTY),
    "a question about the search": ("why that database?", EMPTY),
    "a complaint": ("this is shit", EMPTY),
    "a new question": ("transfer learning without labels", "transfer learning labels"),
}


@pytest.mark.parametrize("name", AFTER_HELP)
async def test_what_is_said_after_help(name: str) -> None:
    """It changes the search that was refused, or nothing; a fragment of it is never searched for."""
    said, query = AFTER_HELP[name]
    chat = ResearchChat()
    await chat.say(EMPTY, said)
    box = await chat.box()
    plan, failure = box.pending_search_plan, box.last_search_failure
    refused = (
        [each.query for each in failure.actions if each.name == "search_anyway"] if failure else []
    )
    assert ([plan.query] if plan else refused) == [query]


async def test_words_that_a_query_has_no_room_for_are_named() -> None:
    """A long question loses no word in silence."""
    chat = ResearchChat()
    take = await chat.say(
        "effect of explanations on user trust in clinical decision support among rural nurses"
    )
    assert "left out: support, rural, nurses" in take.text


async def test_a_wish_that_no_filter_holds_is_said() -> None:
    """It is not searched for, and not dropped in silence."""
    chat = ResearchChat()
    take = await chat.say("explainable AI", "open access only, since 2020")
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    assert (plan.query, plan.filters) == ("explainable AI", {"year": ">=2020"})
    assert 'limited by "open access"' in take.text


@pytest.mark.parametrize(
    "subject", ["algorithmic recourse", "SHAP", "explainable AI medicine", "LIME"]
)
async def test_a_plan_promises_what_it_finds(subject: str) -> None:
    """The lower number is what the query's words find; other names of the subject may add to it."""
    chat = ResearchChat()
    await chat.say(subject)
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    promised = int(plan.expected_results.split()[0].split("-")[0])
    await chat.say("ok")
    [receipt] = (await chat.box()).search_history
    assert receipt.results_count == promised
