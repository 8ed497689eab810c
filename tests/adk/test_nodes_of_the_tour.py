"""Every scenario of the tour, and what goes on after it, with its nodes watched."""

from __future__ import annotations

import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.recorded_runs import RecordedRun, raw, watch
from tests.adk.runs import ORIGIN
from tests.adk.runs import state as stored_state

from adk_prism.adk.request import CallAnswer
from adk_prism.adk.sessions import Sessions
from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario
from adk_prism.facts.model import NodeFinished
from adk_prism.log.entry import Decision

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

_PROMPTS = {"slow": "slow 0.01", "long": "long 40", "large file": "large file 4"}


async def _tour() -> Runner:
    service = InMemorySessionService()
    await Sessions(service).create(ORIGIN, {"old": 1})
    return Runner(
        app=tour_app(0.0),
        app_name=ORIGIN.app,
        session_service=service,
        artifact_service=InMemoryArtifactService(),
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name.replace(" ", "_"))
async def test_each_scenario(scenario: Scenario) -> None:
    """Starts and ends balance, the root ends as the run does, and the state is the stored one."""
    runner = await _tour()
    prompt = _PROMPTS.get(scenario.name, scenario.example)
    seen = (await watch(runner, prompt)).check()
    assert seen.parents()["agent tour"] == ""
    assert _last_status(seen) == seen.ended.outcome
    assert seen.states()[-1][2] == await stored_state(runner)
    assert [n.name for n in seen.starts if n.kind == "node"] in ([], ["copy_files"])


def _last_status(seen: RecordedRun) -> str:
    outermost = [n.node for n in seen.starts if n.parent in ("", "n1") and n.kind != "tool"][-1]
    (end,) = [f for f in seen.facts if isinstance(f, NodeFinished) and f.node == outermost]
    return end.status


async def test_an_approval_and_its_continuation() -> None:
    runner = await _tour()
    asked = (await watch(runner, "sub-agent approval")).check()
    decision = Decision(approval=asked.asked(), approved=True)
    done = (await watch(runner, run="run-2", decisions=[decision])).check()
    assert done.ended.outcome == "finished"
    assert done.status("tour") == done.status("clerk", "agent") == "finished"
    assert done.parents()["tool issue_refund"] == "agent clerk"


async def test_a_client_tool_and_its_continuation() -> None:
    runner = await _tour()
    asked = (await watch(runner, "client tool")).check()
    call = asked.node("get_location").call
    answer = CallAnswer(call=call, name="get_location", response=raw({"city": "Porto"}))
    done = (await watch(runner, run="run-2", answers=[answer])).check()
    assert [n.name for n in done.starts] == ["tour"]
    assert done.status("tour") == "finished"


async def test_a_question_of_a_workflow_and_its_continuation() -> None:
    runner = await _tour()
    asked = (await watch(runner, "input request")).check()
    assert asked.status("ask_for_guests") == "waiting"
    (call,) = asked.requests()
    answer = CallAnswer(call=call, name="adk_request_input", response=raw({"guests": 2}))
    done = (await watch(runner, run="run-2", answers=[answer])).check("ask_for_guests")
    assert done.status("confirm_table") == done.status("tour") == "finished"
    assert done.parents()["function confirm_table"] == "workflow book_table"
