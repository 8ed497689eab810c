"""Answers to approvals and client-run tools, alone and together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import BaseNode, JoinNode, Workflow
from google.genai import types
from tests.adk.runs import history, new_runner, run, say, text_of
from tests.adk.scripted import Scripted, call

from adk_prism.adk.request import CallAnswer
from adk_prism.errors import Conflict
from adk_prism.log.entry import Continues, Decision, Raw, to_raw

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
    pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"]),
]


def _location() -> None:
    """Find where the person is; the browser does it."""


async def _paying(
    service: BaseSessionService, resumable: bool, *turns: Any
) -> tuple[Runner, Scripted, list[int]]:
    """An agent with a gated tool and a client-run one."""
    paid: list[int] = []

    def pay(amount: int) -> dict[str, int]:
        paid.append(amount)
        return {"paid": amount}

    model = Scripted.saying(*turns)
    root = LlmAgent(
        name="root",
        model=model,
        tools=[FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(_location)],
    )
    return await new_runner(root, service, resumable=resumable), model, paid


def _child(name: str, model: Scripted, tools: list[BaseTool]) -> LlmAgent:
    return LlmAgent(name=name, model=model, mode="single_turn", description="d", tools=list(tools))


def _approvals(events: list[dict[str, Any]]) -> dict[str, str]:
    """The approvals asked for: their id → the gated call's."""
    calls = [
        part["functionCall"]
        for event in events
        for part in event.get("content", {}).get("parts", [])
        if part.get("functionCall", {}).get("name") == "adk_request_confirmation"
    ]
    return {made["id"]: made["args"]["originalFunctionCall"]["id"] for made in calls}


def _approval_id(events: list[dict[str, Any]]) -> str:
    return next(iter(_approvals(events)))


def _seen(model: Scripted) -> dict[str, Any]:
    """What the model's last request holds as results, by tool."""
    return {
        str(part.function_response.name): part.function_response.response
        for content in model.requests[-1]
        for part in content.parts or []
        if part.function_response
    }


async def test_an_approval_goes_on_in_the_same_invocation(
    service: BaseSessionService, resumable: bool
) -> None:
    """The gated tool runs once and the model sees its result."""
    runner, _, paid = await _paying(service, resumable, call("pay", "c1", amount=5), "Paid.")
    asked, events = await run(runner, message=say("pay 5"))
    assert paid == []
    decision = Decision(approval=_approval_id(events), approved=True)
    went_on, events = await run(runner, decisions=[decision])
    assert went_on.invocation == asked.invocation
    assert bytes(went_on.message) == b""
    assert paid == [5]
    assert text_of(events) == "Paid."


async def test_the_model_is_told_why_a_person_said_no(
    service: BaseSessionService, resumable: bool
) -> None:
    """ADK's own text does not hold the reason; ours adds it."""
    runner, model, paid = await _paying(service, resumable, call("pay", "c1", amount=5), "Sorry.")
    _, events = await run(runner, message=say("pay 5"))
    decision = Decision(approval=_approval_id(events), approved=False, reason="Too much")
    await run(runner, decisions=[decision])
    assert paid == []
    assert _seen(model)["pay"] == {"error": "This tool call is rejected. Reason: Too much"}


async def test_a_denial_without_a_reason_is_adks_own(
    service: BaseSessionService, resumable: bool
) -> None:
    """Nothing is added where nothing was said."""
    runner, model, paid = await _paying(service, resumable, call("pay", "c1", amount=5), "Sorry.")
    _, events = await run(runner, message=say("pay 5"))
    await run(runner, decisions=[Decision(approval=_approval_id(events), approved=False)])
    assert paid == []
    assert _seen(model)["pay"] == {"error": "This tool call is rejected."}


async def test_an_approval_and_a_client_result_in_one_go(
    service: BaseSessionService, resumable: bool
) -> None:
    """One model call sees both; ADK alone would hide the client's result from it."""
    runner, model, paid = await _paying(
        service, resumable, [call("pay", "c1", amount=5), call("_location", "c2")], "Both done."
    )
    asked, events = await run(runner, message=say("pay where I am"))
    calls_before = len(model.requests)
    went_on, events = await run(
        runner,
        answers=[CallAnswer(call="c2", name="_location", response=Raw(b'"Berlin"'))],
        decisions=[Decision(approval=_approval_id(events), approved=True)],
    )
    assert went_on.invocation == asked.invocation
    assert paid == [5]
    assert _seen(model) == {"pay": {"paid": 5}, "_location": {"result": "Berlin"}}
    assert len(model.requests) == calls_before + 1
    assert text_of(events) == "Both done."
    answered = [e for e in await history(runner) if e.author == "user" and e.content]
    assert {e.invocation_id for e in answered} == {asked.invocation}


async def test_several_client_results_in_one_message(
    service: BaseSessionService, resumable: bool
) -> None:
    """They may come as parts of an ADK message as well."""
    runner, model, _ = await _paying(
        service, resumable, [call("_location", "c1"), call("_location", "c2")], "Thanks."
    )
    asked, _ = await run(runner, message=say("where"))
    parts = [
        types.Part.from_function_response(name="unnamed", response={"city": city})
        for city in ("Berlin", "Rome")
    ]
    for number, part in enumerate(parts, 1):
        assert part.function_response
        part.function_response.id = f"c{number}"
    went_on, events = await run(runner, message=types.Content(role="user", parts=parts))
    assert went_on.invocation == asked.invocation
    assert text_of(events) == "Thanks."
    assert _seen(model) == {"_location": {"city": "Rome"}}


def _delegating(children: list[LlmAgent]) -> tuple[BaseNode, Scripted]:
    """A coordinator that asks all its agents at once."""
    calls = [call(child.name, f"d-{child.name}", request="go") for child in children]
    parent = Scripted.saying(calls, "All.")
    return LlmAgent(name="root", model=parent, sub_agents=list(children)), parent


def _fanning_out(children: list[LlmAgent]) -> tuple[BaseNode, Scripted]:
    """A workflow whose agents run side by side."""
    parent = Scripted.saying("All.")
    join, last = JoinNode(name="join"), LlmAgent(name="last", model=parent)
    return Workflow(name="root", edges=[("START", tuple(children), join, last)]), parent


PARALLEL = [("coordinator", _delegating), ("workflow", _fanning_out)]
Parallel = Callable[[list[LlmAgent]], tuple[BaseNode, Scripted]]


@pytest.mark.parametrize("make", [make for _, make in PARALLEL], ids=[name for name, _ in PARALLEL])
async def test_client_results_for_parallel_agents(
    service: BaseSessionService, resumable: bool, make: Parallel
) -> None:
    """Each agent gets the result of its own call, though all came in one request."""
    models = {
        name: Scripted.saying(call("_location", f"c-{name}"), f"{name} done.")
        for name in ("east", "west", "north")
    }
    children = [
        _child(name, model, [LongRunningFunctionTool(_location)]) for name, model in models.items()
    ]
    root, _ = make(children)
    runner = await new_runner(root, service, resumable=resumable)
    await run(runner, message=say("all"))
    _, events = await run(
        runner,
        answers=[
            CallAnswer(call=f"c-{name}", name="_location", response=to_raw({"city": name}))
            for name in models
        ],
    )
    assert {name: _seen(model).get("_location") for name, model in models.items()} == {
        name: {"city": name} for name in models
    }
    assert text_of(events).endswith("All.")


@pytest.mark.parametrize("make", [make for _, make in PARALLEL], ids=[name for name, _ in PARALLEL])
async def test_approvals_for_parallel_agents(
    service: BaseSessionService, resumable: bool, make: Parallel
) -> None:
    """Every approved tool runs, once, and no other."""
    paid: list[str] = []

    def pay(who: str) -> dict[str, str]:
        paid.append(who)
        return {"paid": who}

    models = {
        name: Scripted.saying(call("pay", f"c-{name}", who=name), f"{name} done.")
        for name in ("east", "west", "north")
    }
    children = [
        _child(name, model, [FunctionTool(pay, require_confirmation=True)])
        for name, model in models.items()
    ]
    root, _ = make(children)
    runner = await new_runner(root, service, resumable=resumable)
    _, events = await run(runner, message=say("all"))
    decisions = [
        Decision(approval=approval, approved=gated != "c-north", reason="no")
        for approval, gated in _approvals(events).items()
    ]
    _, events = await run(runner, decisions=decisions)
    assert sorted(paid) == ["east", "west"]
    assert {name: _seen(model).get("pay") for name, model in models.items()} == {
        "east": {"paid": "east"},
        "west": {"paid": "west"},
        "north": {"error": "This tool call is rejected. Reason: no"},
    }
    assert text_of(events).endswith("All.")


@pytest.mark.parametrize("call_id", ["c9", ""])
async def test_an_answer_to_a_call_that_was_never_made(resumable: bool, call_id: str) -> None:
    """It is refused before anything is recorded."""
    runner = await new_runner(
        LlmAgent(name="root", model=Scripted.saying("x")), resumable=resumable
    )
    answer = CallAnswer(call=call_id, name="f", response=Raw(b"{}"))
    with pytest.raises(Conflict, match="is waiting for an answer"):
        await run(runner, answers=[answer])


async def test_answers_to_two_turns_at_once(service: BaseSessionService, resumable: bool) -> None:
    """ADK runs one invocation at a time."""
    runner, _, _ = await _paying(
        service, resumable, call("_location", "c1"), call("_location", "c2")
    )
    for text in ("one", "two"):
        await run(runner, message=say(text))
    answers = [CallAnswer(call=c, name="_location", response=Raw(b"{}")) for c in ("c1", "c2")]
    with pytest.raises(Conflict, match="several turns"):
        await run(runner, answers=answers)


async def test_a_credential_in_an_answer_does_not_enter_the_log(resumable: bool) -> None:
    """What is recorded of a continuation is redacted like any event."""
    runner = await new_runner(
        LlmAgent(
            name="root",
            model=Scripted.saying(call("_location", "c1"), "ok"),
            tools=[LongRunningFunctionTool(_location)],
        ),
        resumable=resumable,
    )
    await run(runner, message=say("hi"))
    answer = to_raw({"authType": "apiKey", "apiKey": "hunter2"})
    continues = Continues(message="run-1", open_calls={"c1": "_location"}, answers={"c1": answer})
    started, _ = await run(
        runner,
        continues=continues,
        answers=[CallAnswer(call="c1", name="_location", response=answer)],
    )
    assert started.continues is not None
    assert msgspec.json.decode(started.continues.answers["c1"]) == {"authType": "apiKey"}
    assert b"hunter2" not in msgspec.json.encode(started)
