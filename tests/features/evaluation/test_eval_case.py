"""Eval cases of recorded conversations: what they expect, and that ADK's own models take them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase, InvocationEvents, get_all_tool_calls
from google.adk.evaluation.eval_set import EvalSet
from msgspec import structs
from tests.adk.scripted import Scripted, call
from tests.recordings.library import CAPTURES, RECORDINGS, began, continues, first_of, load
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism.errors import Conflict
from adk_prism.features.evaluation.criteria import case_as_written
from adk_prism.features.evaluation.eval_cases import EvalCases, cases_of_recordings, last_of_each
from adk_prism.log.entry import UPLOADED, AgentEvent, Entry, Origin, RunId, labels
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.chats import Chats

Json = dict[str, Any]

REFUSED = {
    "exception": "failed",
    "approval": "waits for an answer",
    "client_tool": "waits for an answer",
    "x_aborted_text": "was cancelled",
    "approval.2": "continues a message",
    "raw/tool": "no message of the user",
}
"""Recordings that are no cases, and why."""

APPROVED = {"approval.2": True, "approval.denied": False, "client_tool.2": None}
"""Recordings that continue with an answer, and which one."""


def case_of(*names: str) -> EvalCase:
    """Return the case of recordings of one conversation, read by ADK."""
    (case,) = cases_of_recordings([load(name) for name in names])
    return EvalCase.model_validate(case)


def text_of(content: Any) -> str:
    """Return what a content says."""
    return " ".join(part.text for part in content.parts if part.text)


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_adk_loads_every_case(name: str) -> None:
    """Whatever was recorded is a case that ADK reads from a file, or is refused with a reason."""
    before = [first_of(name)] if continues(name) is not None else []
    try:
        (case,) = cases_of_recordings([load(each) for each in [*before, name]])
    except Conflict:
        return
    written = {"eval_set_id": "all", "eval_cases": [case_as_written(case)]}
    (read,) = EvalSet.model_validate(written).eval_cases
    assert read.conversation
    for invocation in read.conversation:
        assert invocation.user_content.parts
        shown = invocation.final_response.parts if invocation.final_response else []
        assert not any(part.thought for part in shown or [])
    assert read.session_input is not None
    assert read.session_input.app_name == began(name).origin.app


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_without_an_answer_is_refused(name: str) -> None:
    """The reason says what is missing."""
    with pytest.raises(Conflict, match=REFUSED[name]):
        cases_of_recordings([load(name)])


def test_a_live_run_is_refused() -> None:
    """It has no messages that could be sent again."""
    head, *rest = load("tool")
    live = structs.replace(head, record=structs.replace(began("tool"), live=True))
    with pytest.raises(Conflict, match="live run"):
        cases_of_recordings([[live, *rest]])


def test_tools_and_agents_are_expected_in_order() -> None:
    """Calls with their arguments, by the agent that made them; children of an `AgentTool` are not told."""
    (turn,) = case_of("tool").conversation or []
    assert [(each.name, each.args) for each in get_all_tool_calls(turn.intermediate_data)] == [
        ("get_weather", {"city": "Lisbon"})
    ]
    assert "Lisbon" in text_of(turn.final_response)
    (turn,) = case_of("transfer").conversation or []
    assert isinstance(turn.intermediate_data, InvocationEvents)
    assert turn.intermediate_data.invocation_events[0].author == "tour"
    (turn,) = case_of("agent_tool").conversation or []
    assert [each.name for each in get_all_tool_calls(turn.intermediate_data)] == ["translator"]


@pytest.mark.parametrize("end", APPROVED)
def test_an_answered_question_is_one_invocation(end: str) -> None:
    """What ADK asks a person is not expected of the agent, and the answer is no message of the user."""
    (turn,) = case_of(first_of(end), end).conversation or []
    assert first_of(end).split("_")[0] in text_of(turn.user_content)
    names = [each.name for each in get_all_tool_calls(turn.intermediate_data)]
    assert len(names) == 1
    assert not names[0].startswith("adk_request")
    assert text_of(turn.final_response)
    (answer,) = (case_of(first_of(end), end).model_extra or {})["prismAnswers"]
    assert (answer["message"], answer["tool"]) == (0, names[0])
    assert answer.get("approved") is APPROVED[end]


def renamed(name: str, run: str, **changes: Any) -> list[Entry]:
    """Return a recording under another id, with another beginning."""
    first, *rest = load(name)
    return [structs.replace(first, record=structs.replace(began(name), run=run, **changes)), *rest]


@pytest.mark.parametrize(
    "odd",
    [
        {"content": "text"},
        {"content": {"parts": "text"}},
        {"content": {"parts": ["text", None, 7]}},
        {"content": {"parts": [{"functionCall": "x"}, {"functionResponse": [1]}]}},
        {"content": {"parts": [{"functionCall": {"name": ["x"]}}]}, "actions": "none"},
        {"author": 7, "actions": {"requestedToolConfirmations": [1]}},
        {"author": "user", "content": None},
        {},
    ],
    ids=json.dumps,
)
def test_odd_events_do_no_harm(odd: Json) -> None:
    """A capture may hold anything: what ADK cannot read is refused when a set is written."""
    first, *rest = load("text")
    event = Entry(2, first.time, AgentEvent(json.dumps(odd).encode()))
    (case,) = cases_of_recordings([[first, event, *rest]])
    assert case["conversation"][0]["finalResponse"]["parts"][0]["text"]
    try:
        case_as_written(case)
    except Conflict as refusal:
        assert "does not take" in refusal.detail  # noqa: PT017 # either way is right


def test_a_run_without_a_message_goes_on() -> None:
    """A recorder does not know which run an answer continues."""
    second = renamed("approval.2", "second", continues=None)
    (case,) = cases_of_recordings([load("approval"), second])
    (turn,) = EvalCase.model_validate(case).conversation or []
    assert text_of(turn.final_response)


async def test_runs_of_a_recorded_session_are_one_conversation() -> None:
    """They were recorded elsewhere, and are no chat of this server."""
    log = MemoryLog()
    await log.open()
    place = {
        "origin": Origin(app="far", user="ann", session="recorded"),
        "labels": labels(UPLOADED(True)),
    }
    for name, run in (("text", "run-1"), ("tool", "run-2"), ("state", "run-3")):
        entries = renamed(name, run, **place)
        await log.append(RunId(run), [entry.record for entry in entries])
        await log.commit(RunId(run))
    case = await EvalCases(log, Chats(log)).of(RunId("run-2"))
    assert [turn["userContent"]["parts"][0]["text"] for turn in case["conversation"]] == [
        "text",
        "tool",
    ]
    assert case["sessionInput"]["appName"] == "far"
    await log.close()


def test_of_one_conversation_the_last_run_counts() -> None:
    """A case with which another one begins says nothing more; another answer is another case."""

    def case(*invocations: str) -> Json:
        turns = [{"invocationId": each, "userContent": {}} for each in invocations]
        return {"conversation": turns}

    assert last_of_each([case("a"), case("a", "b"), case("a", "c"), case("a", "b")]) == [
        case("a", "b"),
        case("a", "c"),
    ]


async def evalcase(server: LocalServer, run: str) -> Json:
    """Return a run's eval case, by the route."""
    answer = await server.client.get(f"/api/runs/{run}/evalcase")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    EvalCase.model_validate(found)
    return found


async def test_a_case_is_the_conversation_up_to_its_run() -> None:
    """With the state at its beginning, and without what was regenerated until then."""
    model = Scripted.saying(
        call("count", "c1"), "One.", "Two, wrongly.", "Two.", "Three.", ValueError("no")
    )
    async with local_server(agent(model)) as server:
        place = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"
        await server.client.post(place, json={"unit": "piece"})
        first = await server.say("one")
        wrong = await server.say("two")
        body = {"id": SESSION, "trigger": "regenerate-message", "messages": []}
        again = await server.client.post(f"/api/chat/{APP}", json=body)
        assert again.status_code == 200, again.text
        last = await server.say("three")
        failed = await server.say("four")

        case = await evalcase(server, last)
        said = [text["parts"][0]["text"] for text in _each(case, "userContent")]
        told = [text["parts"][-1]["text"].strip() for text in _each(case, "finalResponse")]
        assert said == ["one", "two", "three"]
        assert told == ["One.", "Two.", "Three."]
        assert case["sessionInput"] == {
            "appName": APP,
            "userId": USER,
            "state": {"unit": "piece"},
        }
        assert case["evalId"] == case["prismRun"] == last
        earlier = await evalcase(server, first)
        assert len(earlier["conversation"]) == 1
        replaced = await evalcase(server, wrong)
        assert replaced["conversation"][-1]["finalResponse"]["parts"][0]["text"].startswith(
            "Two, w"
        )
        refused = await server.client.get(f"/api/runs/{failed}/evalcase")
        assert refused.status_code == 409
        assert "failed" in refused.json()["detail"]


def _each(case: Json, name: str) -> list[Json]:
    return [turn[name] for turn in case["conversation"]]
