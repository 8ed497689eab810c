"""Assumptions change the plan and are seen in it; what searches leave open becomes a question."""

from __future__ import annotations

from typing import Any

import pytest
from tests.app_runner import AppRunner
from tests.apps.research.databases.asking import Clock
from tests.apps.research.databases.loopback import loopback, synthetic
from tests.apps.research.talk import Talk
from tests.apps.research.test_turns import LOW, QUESTION, ResearchChat

from adk_prism.grounding import SearchPlan
from adk_prism_apps.research.agent import research_app
from adk_prism_apps.research.databases.query import Query
from adk_prism_apps.research.databases.registry import NAMES
from adk_prism_apps.research.planning.assumptions import MOST_ASSUMPTIONS, assume

BASE = Query("explainable AI")
YEAR = 2026
ASSUMED: dict[str, dict[str, Any]] = {
    "Clinical applications only": {"text": "explainable AI clinical"},
    "clinical only": {"text": "explainable AI clinical"},
    "focus on radiology": {"text": "explainable AI radiology"},
    "Healthcare": {"text": "explainable AI healthcare"},
    "adults only": {"text": "explainable AI adults"},
    "no animals": {"text": "explainable AI NOT animals"},
    "2020-present": {"since": 2020},
    "published before 2019": {"until": 2018},
    "last five years": {"since": 2022},
    "only reviews": {"kinds": ("review",)},
    "Systematic reviews": {"kinds": ("review",)},
    "Peer-reviewed only": {"kinds": ("article", "conference", "review")},
    "fields: Medicine": {"fields": ("Medicine",)},
    # Not for a search; said so.
    "English only": {},
    "The effect is linear": {},
    "Explainable only": {},
}


@pytest.mark.parametrize("text", ASSUMED)
def test_what_an_assumption_means(text: str) -> None:
    """One change each, or none; every one is named in the plan."""
    made = assume([text], BASE, YEAR, NAMES)
    changed = {
        name: getattr(made.query, name)
        for name in ("text", "since", "until", "kinds", "fields")
        if getattr(made.query, name) != getattr(BASE, name)
    }
    assert changed == ASSUMED[text]
    assert f'"{text}" (' in made.text


def test_the_question_comes_before_its_assumptions() -> None:
    """What it says itself is not changed; a database and a field are wanted, not forced."""
    asked = Query("explainable AI", since=2015, kinds=("article",))
    made = assume(["2020-present", "only reviews", "clinical only", "PubMed"], asked, YEAR, NAMES)
    assert (made.query.since, made.query.kinds) == (2015, ("article",))
    assert (made.database, made.field) == ("pubmed", "Medicine")


@pytest.mark.parametrize("texts", [["", "  "], ["x" * 10_000], ["\x00\u202e only"], ["only"] * 50])
def test_any_assumption_is_safe(texts: list[str]) -> None:
    """Bounded, and a query comes of it that can be asked."""
    made = assume(texts, BASE, YEAR, NAMES)
    assert len(made.query.text) <= 500
    assert len(made.notes) <= MOST_ASSUMPTIONS + 1


async def planned(talk: Talk) -> SearchPlan:
    """Return the plan that waits."""
    plan = (await talk.grounding()).box().pending_search_plan
    assert plan is not None
    return plan


async def test_assumptions_of_the_panel_change_the_plan(talk: Talk) -> None:
    """Written before the question, as the panel does; seen in plan and text; then searched."""
    await talk.write(search_assumptions=["Clinical applications only", "2020-present"])
    turn = await talk.say("explainable AI")
    plan = await planned(talk)
    assert "clinical" in plan.query
    assert plan.filters == {"year": ">=2020"}
    for part in ("Clinical applications only", "2020-present"):
        assert part in plan.rationale
        assert part in turn.text
    found = await talk.say("ok")
    [receipt] = found.written["search_history"]
    assert receipt["query"] == plan.query
    assert receipt["filters_applied"] == ["year>=2020"]


async def test_assumptions_that_change_while_a_plan_waits(talk: Talk) -> None:
    """With the next message that says nothing else, the plan is made anew, and waits."""
    await talk.say("explainable AI")
    await talk.write(search_assumptions=["clinical only"])
    turn = await talk.say("continue")
    assert "clinical" in turn.written["pending_search_plan"]["query"]
    assert "adk_request_confirmation" in turn.calls
    assert "still waits" in (await talk.say("continue")).text


async def test_a_database_of_the_field_is_preferred() -> None:
    """Where it can be asked."""
    chat = ResearchChat()
    everything = {"ADK_PRISM_DATABASES": "all"}
    chat.stage = AppRunner(research_app(0, environment=everything, timer=Clock()))
    await chat.say("explainable AI")
    first = (await chat.box()).pending_search_plan
    delta = {"grounding:search_assumptions": ["Clinical applications only"]}
    assert first is not None
    async for _ in chat.stage.runner.run_async(
        user_id="user",
        session_id="assumed",
        new_message=_words("explainable AI"),
        state_delta=delta,
    ):
        pass
    session = await chat.stage.sessions.get_session(
        app_name="research", user_id="user", session_id="assumed"
    )
    assert session is not None
    plan = session.state["grounding:pending_search_plan"]
    assert (first.database, plan["database"]) == ("Semantic Scholar", "PubMed")


def _words(text: str) -> Any:
    from google.genai import types

    return types.UserContent(text)


# ------------------------------------------------------------------ open questions


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["explainable wildfire", "ok"], "Is there anything on `explainable wildfire`?"),
        ([LOW, "ok"], f"Is there more on `{LOW}`"),
        ([f"{QUESTION} since 2012", "ok"], "Is there nothing of 2012"),
        ([f"{QUESTION} in PubMed"], "What does PubMed have on"),
    ],
)
async def test_gaps_become_open_questions(words: list[str], part: str) -> None:
    """Nothing found, too little, years without a paper, a database that is not asked."""
    chat = ResearchChat()
    await chat.say(*words)
    questions = (await chat.box()).open_questions
    assert [part in each for each in questions] == [True], questions


async def test_a_search_without_a_gap_leaves_no_question() -> None:
    """Nor does a plan."""
    chat = ResearchChat()
    await chat.say(QUESTION, "ok")
    assert (await chat.box()).open_questions == []


async def test_a_question_goes_when_a_search_answers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that could not be searched, and then could; what the researcher wrote stays."""
    found = {"total": 1, "offset": 0, "data": [{"paperId": "p", "title": "One (synthetic)"}]}
    async with loopback([synthetic(403, {}), synthetic(200, found)]) as service:
        monkeypatch.setenv("ADK_PRISM_SEMANTIC_SCHOLAR_URL", service.url)
        chat = ResearchChat()
        environment = {"ADK_PRISM_DATABASES": "semantic_scholar"}
        chat.stage = AppRunner(research_app(0, environment=environment, timer=Clock()))
        async for _ in chat.stage.runner.run_async(
            user_id="user",
            session_id="session",
            new_message=_words("explainable AI"),
            state_delta={"grounding:open_questions": ["Which data?"]},
        ):
            pass
        await _say(chat, "ok")
        own, asked = await _questions(chat)
        assert own == "Which data?"
        assert "could not be searched (auth_failed)" in asked
        await _say(chat, "explainable AI in Semantic Scholar", "ok")
        assert await _questions(chat) == ["Which data?"]


async def _say(chat: ResearchChat, *words: str) -> None:
    for text in words:
        async for _ in chat.stage.runner.run_async(
            user_id="user", session_id="session", new_message=_words(text)
        ):
            pass


async def _questions(chat: ResearchChat) -> list[str]:
    session = await chat.stage.sessions.get_session(
        app_name="research", user_id="user", session_id="session"
    )
    assert session is not None
    found: list[str] = session.state["grounding:open_questions"]
    return found
