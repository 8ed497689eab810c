"""Runs that break off, are taken back or are forked: no search twice, none unasked, the box true."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from google.adk.agents import RunConfig
from google.adk.agents.run_config import StreamingMode
from google.genai import types
from tests.app_runner import SESSION, USER, AppRunner
from tests.apps.research.talk import Talk

from adk_prism_apps.research.agent import research_app

QUESTION = "counterfactual explanations"


async def cut(stage: AppRunner, text: str, events: int) -> str:
    """Say something and stop listening after so many whole events; return the invocation."""
    run = stage.runner.run_async(
        user_id=USER,
        session_id=SESSION,
        new_message=types.UserContent(text),
        run_config=RunConfig(streaming_mode=StreamingMode.NONE),
    )
    async with aclosing(run):
        seen = [await anext(run) for _ in range(events)]
    return seen[-1].invocation_id


async def state_of(stage: AppRunner) -> dict[str, Any]:
    session = await stage.sessions.get_session(
        app_name="research", user_id=USER, session_id=SESSION
    )
    assert session is not None
    return dict(session.state)


@pytest.mark.parametrize("events", [1, 2, 3])
async def test_a_question_that_broke_off(events: int) -> None:
    """Stopped after the intent, the call or the plan: it continues with the same plan, asked once."""
    stage = AppRunner(research_app(0, environment={}))
    invocation = await cut(stage, QUESTION, events)
    take = await stage.resume(invocation)
    assert take.error is None
    state = await state_of(stage)
    assert state["grounding:pending_search_plan"]["query"] == QUESTION
    assert [call.name for call in take.calls].count("adk_request_confirmation") == 1


@pytest.mark.parametrize("events", [1, 2, 3])
async def test_an_approved_search_that_broke_off(events: int) -> None:
    """After the approval, the call or the result: one search in the end, and its receipt is told."""
    stage = AppRunner(research_app(0, environment={}))
    await stage.send(QUESTION)
    invocation = await cut(stage, "ok", events)
    take = await stage.resume(invocation)
    assert take.error is None
    assert "→ Found" in take.text
    state = await state_of(stage)
    assert len(state["grounding:search_history"]) == 1
    assert state["grounding:pending_search_plan"] is None


async def test_a_search_that_is_taken_back(talk: Talk) -> None:
    """After a rewind the plan waits as before, and its papers are not counted."""
    await talk.say(QUESTION)
    before = (await talk.grounding()).values
    found = await talk.say("ok")
    path = f"/apps/research/users/ada/sessions/{talk.adk.session}/rewind"
    invocation = found.events[0]["invocationId"]
    answer = await talk.adk.http.post(path, json={"invocationId": invocation})
    assert answer.status_code == 200, answer.text
    assert (await talk.grounding()).values == before
    assert (await talk.say("ok")).written["papers_found"] == found.written["papers_found"]


async def test_a_fork_before_the_search(talk: Talk) -> None:
    """Another decision, in a session of its own; the first session stays as it was."""
    await talk.say(QUESTION)
    found = await talk.say("ok")
    runs = (await talk.adk.http.get("/api/runs", params={"session": talk.adk.session})).json()
    planned = next(run["run"] for run in runs if run["outcome"] == "waiting")
    body = {
        "at": (await talk.adk.http.get(f"/api/runs/{planned}/view")).json()["last"],
        "stateDelta": {"grounding:user_approval": "short_run"},
        "newMessage": {"role": "user", "parts": [{"text": "continue"}]},
    }
    forked = (await talk.adk.http.post(f"/api/runs/{planned}/fork", json=body)).json()
    await talk.adk.http.get(f"/api/runs/{forked['run']}/stream")
    path = f"/apps/research/users/ada/sessions/{forked['session']}"
    state = (await talk.adk.http.get(path)).json()["state"]
    assert state["grounding:papers_found"] == 10
    assert (await talk.state())["grounding:papers_found"] == found.written["papers_found"]
