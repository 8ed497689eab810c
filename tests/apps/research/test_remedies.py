"""Remedies: every search that found nothing or failed offers some; each runs and keeps its promise."""

from __future__ import annotations

from typing import Any

import pytest
from tests.app_runner import AppRunner
from tests.apps.research.databases.asking import Clock
from tests.apps.research.databases.loopback import Answer, loopback, synthetic
from tests.apps.research.test_turns import ResearchChat

from adk_prism.grounding import RemedyAction, SearchFailure
from adk_prism_apps.research.agent import research_app

ONLINE = {"ADK_PRISM_DATABASES": "semantic_scholar"}
NOTHING = [
    "explainable wildfire",
    "wildfire",
    "quantum llama saliency underwater basket",
    "counterfactual explanations since 2090",
    "saliency maps, only datasets",
    "xyzzy plugh",
    "explanable counterfactuals zebrafish",
    '"saliency zebrafish"',
    "AI transparency",
]


async def failed(chat: ResearchChat, question: str) -> SearchFailure:
    """Search, and return what was wrong with it."""
    await chat.say(question, "ok")
    failure = (await chat.box()).last_search_failure
    assert failure is not None
    return failure


async def kept(chat: ResearchChat, number: int, action: RemedyAction) -> None:
    """Choose a remedy and approve it: it is the search that was offered, and finds what was promised."""
    before = len((await chat.box()).search_history)
    planned = await chat.say(str(number))
    assert "not fail" not in planned.text
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    assert (plan.query, plan.filters, plan.database) == (
        action.query,
        action.filters,
        action.database,
    )
    await chat.say("ok")
    history = (await chat.box()).search_history
    if action.name == "retry" and len(history) == before:
        return  # The service has failed again: that is no search.
    assert len(history) == before + 1
    assert history[-1].database == action.database
    if action.expected is not None:
        assert plan.expected_results.startswith(f"{action.expected} paper")
        assert history[-1].total == action.expected
        assert (action.expected > 0) == (action.name != "search_anyway")


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("question", NOTHING)
async def test_a_search_without_a_find(question: str, number: int) -> None:
    """In the sample library every remedy has its count, and finds as many."""
    chat = ResearchChat()
    failure = await failed(chat, question)
    assert failure.actions
    assert failure.remedies.primary == failure.actions[0].label
    assert len({each.name for each in failure.actions}) == len(failure.actions) <= 4
    if number <= len(failure.actions):
        action = failure.actions[number - 1]
        assert action.expected is not None
        assert f"{action.expected} papers" in action.label
        await kept(chat, number, action)


TROUBLES: dict[str, Any] = {
    "html": Answer(200, b"<html>busy</html>", (("content-type", "text/html"),)),
    "forbidden": synthetic(403, {"message": "Forbidden"}),
    "bad request": synthetic(400, {"error": "bad query"}),
    "nothing": synthetic(200, {"total": 0, "offset": 0}),
    "busy": synthetic(429, {"message": "slow down"}),
}


@pytest.mark.parametrize("question", ["explainable AI", "explainable wildfire", "wildfire"])
@pytest.mark.parametrize("name", TROUBLES)
async def test_a_service_that_fails(
    name: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the library has: there are remedies, and those that it counts find as many."""
    async with loopback([TROUBLES[name]] * 40) as service:
        monkeypatch.setenv("ADK_PRISM_SEMANTIC_SCHOLAR_URL", service.url)
        count = 1
        number = 0
        while number < count:
            number += 1
            chat = ResearchChat()
            chat.stage = AppRunner(research_app(0, environment=ONLINE, timer=Clock()))
            failure = await failed(chat, question)
            count = len(failure.actions)
            assert count
            await kept(chat, number, failure.actions[number - 1])
