"""How a Runner is called, and what comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import BaseNode, Workflow
from google.genai import types
from tests.adk.runs import (
    ORIGIN,
    Reports,
    drain,
    history,
    new_runner,
    run,
    say,
    source,
    state,
    text_of,
)
from tests.adk.scripted import Scripted, call

from adk_prism.adk.errors import first_cause
from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions, StateUpdateSource
from adk_prism.errors import Conflict, NotFound, PrismError, Unprocessable
from adk_prism.log.entry import (
    CUSTOM_METADATA,
    STREAMING,
    Agent,
    AgentEvent,
    Origin,
    Record,
    RunStarted,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]


def _llm(model: Scripted) -> BaseNode:
    return LlmAgent(name="root", model=model)


def _workflow(model: Scripted) -> BaseNode:
    def shout(node_input: Any) -> str:
        return str(node_input).upper()

    return Workflow(name="root", edges=[("START", LlmAgent(name="speaker", model=model), shout)])


def _sequence(model: Scripted) -> BaseNode:
    return SequentialAgent(name="root", sub_agents=[LlmAgent(name="first", model=model)])


ROOTS: list[tuple[str, Callable[[Scripted], BaseNode]]] = [
    ("llm", _llm),
    ("workflow", _workflow),
    ("legacy", _sequence),
]


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize(("kind", "make"), ROOTS, ids=[kind for kind, _ in ROOTS])
async def test_the_chosen_invocation_is_the_runs_own_on_every_root(
    service: BaseSessionService, kind: str, make: Callable[[Scripted], BaseNode], resumable: bool
) -> None:
    """The first record names the invocation under which every event then comes."""
    runner = await new_runner(make(Scripted.saying("Hello there")), service, resumable=resumable)
    started, events = await run(runner, message=say("hi"))
    assert started.invocation.startswith("e-")
    assert {event["invocationId"] for event in events} == {started.invocation}
    assert "Hello there" in text_of(events)


async def test_a_repeated_start_is_one_start(service: BaseSessionService) -> None:
    """The same id and message again do not store the message twice."""
    model = Scripted.saying("one", "two")
    runner = await new_runner(_llm(model), service)
    for _ in range(2):
        await run(runner, message=say("hi"), invocation="e-mine")
    assert [e.author for e in await history(runner)].count("user") == 1


async def test_the_first_record_tells_who_is_there_and_what_the_state_was(
    service: BaseSessionService,
) -> None:
    """`RunStarted` holds the agents, the state before the run and the message."""
    child = LlmAgent(name="helper", model=Scripted.saying("x"), description="d")
    root = LlmAgent(name="root", model=Scripted.saying("ok"), sub_agents=[child], tools=[len])
    runner = await new_runner(root, service, state={"colour": "red", "user:name": "Ann"})
    started, _ = await run(runner, message=say("hi"), message_id="m1", replaces="m0")
    assert started.agents == [
        Agent(name="root", model="scripted", tools=1),
        Agent(name="helper", model="scripted"),
    ]
    assert {k: msgspec.json.decode(v) for k, v in started.state.items()} == {
        "colour": "red",
        "user:name": "Ann",
    }
    assert msgspec.json.decode(started.message) == {"role": "user", "parts": [{"text": "hi"}]}
    assert (started.message_id, started.replaces, STREAMING.read(started)) == ("m1", "m0", True)


@pytest.mark.parametrize("streaming", [True, False])
async def test_streaming_is_adk_sse_mode(streaming: bool) -> None:
    """Partial events come only when streaming is asked for."""
    runner = await new_runner(_llm(Scripted.saying("one two three")))
    _, events = await run(runner, message=say("hi"), streaming=streaming)
    assert [event.get("partial") for event in events] == (
        [True, True, True, False] if streaming else [None]
    )


@pytest.mark.parametrize(("kind", "make"), ROOTS, ids=[kind for kind, _ in ROOTS])
async def test_a_state_change_is_there_before_the_first_step(
    service: BaseSessionService, kind: str, make: Callable[[Scripted], BaseNode]
) -> None:
    """The first record, the agent's instruction and the stored session all have it."""
    model = Scripted.saying("done")
    runner = await new_runner(make(model), service, state={"n": 1})
    started, events = await run(runner, message=say("hi"), state_delta={"n": 2, "nul": "a\0b"})
    assert {k: msgspec.json.decode(v) for k, v in started.state.items()} == {
        "n": 2,
        "nul": "a\ufffdb",
    }
    assert (await state(runner))["n"] == 2
    assert all(not event["actions"]["stateDelta"].get("n") for event in events)


async def test_the_agent_sees_the_state_change(service: BaseSessionService) -> None:
    """A tool of the first step reads the changed value."""
    seen: list[Any] = []

    def look(tool_context: ToolContext) -> str:
        seen.append(tool_context.state["n"])
        return "seen"

    root = LlmAgent(name="root", model=Scripted.saying(call("look", "c1"), "ok"), tools=[look])
    runner = await new_runner(root, service)
    await run(runner, message=say("hi"), state_delta={"n": 7})
    assert seen == [7]


async def test_a_state_only_update_is_one_event_and_no_model_call(
    service: BaseSessionService,
) -> None:
    """The update comes back as ADK's PATCH stores it; the model is not asked."""
    model = Scripted.saying("never")
    runner = await new_runner(_llm(model), service, state={"n": 1})
    request = RunRequest(run="run-1", origin=ORIGIN, state_delta={"n": 2})
    source = StateUpdateSource(runner=runner, request=request, agents=[])
    started, events = await drain(source.records())
    assert msgspec.json.decode(started.state["n"]) == 1
    assert [(e["author"], e["actions"]["stateDelta"]) for e in events] == [("user", {"n": 2})]
    assert events[0]["invocationId"] == started.invocation
    assert started.invocation.startswith("p-")
    assert started.kind == "state"
    assert (await state(runner))["n"] == 2
    assert model.requests == []


async def test_a_paused_workflow_task_is_not_started_again(service: BaseSessionService) -> None:
    """A reply to a task agent inside a workflow goes on where it waits; earlier nodes stay done."""
    ran: list[str] = []

    def first(node_input: Any) -> str:
        ran.append("first")
        return "x"

    def last(node_input: Any) -> str:
        ran.append("last")
        return "done"

    child = Scripted.saying("Which colour?", call("finish_task", "f1", result="red"))
    picker = LlmAgent(name="picker", model=child, mode="task", description="picks")
    runner = await new_runner(
        Workflow(name="flow", edges=[("START", first, picker, last)]), service
    )
    asked, _ = await run(runner, message=say("hi"))
    replied, _ = await run(runner, message=say("red"))
    assert ran == ["first", "last"]
    assert replied.invocation == asked.invocation


async def test_a_reply_to_a_delegated_task_has_its_own_invocation(
    service: BaseSessionService,
) -> None:
    """So each of the user's turns can be taken back alone."""
    child = Scripted.saying("Which colour?", call("finish_task", "f1", result="red"))
    picker = LlmAgent(name="picker", model=child, mode="task", description="picks")
    parent = Scripted.saying(call("picker", "c1", request="pick"), "You picked red")
    root = LlmAgent(name="root", model=parent, sub_agents=[picker])
    runner = await new_runner(root, service)
    asked, _ = await run(runner, message=say("hi"))
    replied, events = await run(runner, message=say("red"))
    assert replied.invocation != asked.invocation
    assert text_of(events).endswith("You picked red")


async def test_resuming_an_invocation(service: BaseSessionService) -> None:
    """A tool that was cut off runs again for the same call; the message is not stored again."""
    inside = asyncio.Event()

    async def slow() -> str:
        if not inside.is_set():
            inside.set()
            await asyncio.Event().wait()
        return "done"

    root = LlmAgent(name="root", model=Scripted.saying(call("slow", "c1"), "ok"), tools=[slow])
    runner = await new_runner(root, service, resumable=True)
    running = source(runner, {"message": say("hi"), "invocation": "e-mine"})
    task = asyncio.create_task(drain(running.records()))
    await inside.wait()
    task.cancel()
    await asyncio.wait([task])
    started, events = await run(runner, invocation="e-mine")
    assert started.invocation == "e-mine"
    assert events[0]["content"]["parts"][0]["functionResponse"]["id"] == "c1"
    assert text_of(events) == "ok"
    assert [e.author for e in await history(runner)].count("user") == 1


async def test_what_cannot_be_resumed() -> None:
    """An invocation that never was or was taken back, and an app that cannot."""
    runner = await new_runner(_llm(Scripted.saying("one")), resumable=True)
    with pytest.raises(Conflict, match="no invocation 'e-none' to resume"):
        await run(runner, invocation="e-none")
    started, _ = await run(runner, message=say("hi"))
    await Sessions(runner.session_service).rewind(runner, ORIGIN, started.invocation)
    with pytest.raises(Conflict, match="any more"):
        await run(runner, invocation=started.invocation)
    legacy = await new_runner(_sequence(Scripted.saying("one")))
    started, _ = await run(legacy, message=say("hi"))
    with pytest.raises(Conflict, match="cannot resume"):
        await run(legacy, invocation=started.invocation)


# ------------------------------------------------------------------------------- stopping


async def test_cancel_in_the_middle_of_text(service: BaseSessionService) -> None:
    """The run ends with ADK's abort event and without an exception; the session stays usable."""
    speaking = asyncio.Event()
    model = Scripted.saying(speaking, "again")
    runner = await new_runner(_llm(model), service)
    running = source(runner, {"message": say("hi")})
    task = asyncio.create_task(drain(running.records()))
    await speaking.wait()
    running.cancel()
    running.cancel()
    _, events = await task
    assert events[-1]["errorCode"] == "INVOCATION_ABORTED"
    assert events[-1]["errorMessage"] == "Invocation was aborted by client."
    _, events = await run(runner, message=say("once more"))
    assert text_of(events) == "again"


@pytest.mark.parametrize(("kind", "make"), ROOTS, ids=[kind for kind, _ in ROOTS])
async def test_cancel_before_the_run_has_begun(
    service: BaseSessionService, kind: str, make: Callable[[Scripted], BaseNode]
) -> None:
    """The model is not asked; the run says that it was stopped."""
    model = Scripted.saying("never")
    runner = await new_runner(make(model), service)
    running = source(runner, {"message": say("hi")})
    running.cancel()
    _, events = await drain(running.records())
    assert [event.get("errorCode") for event in events] == ["INVOCATION_ABORTED"]
    assert model.requests == []


async def test_cancel_inside_a_tool(service: BaseSessionService) -> None:
    """The tool is cancelled and its call answered with the abort."""
    inside, cancelled = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        inside.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    root = LlmAgent(name="root", model=Scripted.saying(call("slow", "c1")), tools=[slow])
    runner = await new_runner(root, service)
    running = source(runner, {"message": say("hi")})
    task = asyncio.create_task(drain(running.records()))
    await inside.wait()
    running.cancel()
    _, events = await task
    response = events[-1]["content"]["parts"][0]["functionResponse"]
    assert (response["id"], response["response"]) == (
        "c1",
        {"error": "Invocation was aborted by client."},
    )
    assert cancelled.is_set()


async def test_cancelling_the_recording_task_stops_the_agent(service: BaseSessionService) -> None:
    """The generator is closed on the way out: the tool is cancelled and no task is left."""
    inside, cancelled = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        inside.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    root = LlmAgent(name="root", model=Scripted.saying(call("slow", "c1")), tools=[slow])
    runner = await new_runner(root, service)
    before = asyncio.all_tasks()
    task = asyncio.create_task(drain(source(runner, {"message": say("hi")}).records()))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
    assert asyncio.all_tasks() == before


async def test_closing_the_records_early_stops_the_agent() -> None:
    """Who stops reading and closes leaves nothing running."""
    runner = await new_runner(_llm(Scripted.saying("one two three")))
    before = asyncio.all_tasks()
    async with aclosing(source(runner, {"message": say("hi")}).records()) as records:
        assert isinstance(await anext(records), RunStarted)
        assert isinstance(await anext(records), AgentEvent)
    assert asyncio.all_tasks() == before


# ------------------------------------------------------------------------------- failing


async def _collect(running: RunnerSource, records: list[Record]) -> None:
    async for record in running.records():
        records.append(record)  # noqa: PERF401 - what came before the exception is wanted


SECRET = "postgres://admin:hunter2@10.0.0.1 in /srv/agents/tour.py"


async def test_an_exception_is_raised_and_its_text_stays_with_the_operator() -> None:
    """The error event names the class only; the operator finds the text by the reference."""
    reports = Reports()
    runner = await new_runner(_llm(Scripted.saying(RuntimeError(SECRET))))
    records: list[Record] = []
    running = source(runner, {"message": say("hi")}, reports)
    with pytest.raises(RuntimeError, match="hunter2"):
        await _collect(running, records)
    events = [record.event for record in records if isinstance(record, AgentEvent)]
    assert b"hunter2" not in b"".join(events)
    error = json.loads(events[-1])
    assert error["errorCode"] == "RuntimeError"
    (told,) = reports
    assert error["errorMessage"] == (
        f"The agent failed (RuntimeError). Reference: {told.correlation}."
    )
    assert SECRET in told.cause
    assert (told.run, told.app, running.correlation) == ("run-1", "app", told.correlation)


async def test_a_group_of_exceptions_is_raised_as_its_cause() -> None:
    """Legacy parallel agents raise groups; the run's code should name what went wrong."""
    children = [
        LlmAgent(name="a", model=Scripted.saying(ValueError("bad"))),
        LlmAgent(name="b", model=Scripted.saying("fine")),
    ]
    runner = await new_runner(ParallelAgent(name="root", sub_agents=children))
    with pytest.raises(ValueError, match="bad"):
        await run(runner, message=say("hi"))


def test_the_cause_of_a_group_is_not_a_cancellation() -> None:
    """A failing task cancels its siblings; the failure is what counts."""
    inner = BaseExceptionGroup("inner", [asyncio.CancelledError(), ValueError("it")])
    assert str(first_cause(BaseExceptionGroup("outer", [asyncio.CancelledError(), inner]))) == "it"
    only = asyncio.CancelledError()
    assert first_cause(BaseExceptionGroup("outer", [only])) is only


@dataclass(frozen=True)
class Refusal:
    id: str
    request: dict[str, Any]
    error: type[PrismError]
    says: str


_CALL = types.Part(function_call=types.FunctionCall(name="f", args={}))
_RESPONSE = types.Part(function_response=types.FunctionResponse(id="x", name="f", response={}))

REFUSALS = [
    Refusal("nothing", {}, Unprocessable, "message, answers, or an invocation"),
    Refusal("no parts", {"message": types.Content(parts=[])}, Unprocessable, "no parts"),
    Refusal("a call", {"message": types.Content(parts=[_CALL])}, Unprocessable, "function calls"),
    Refusal(
        "text and response",
        {"message": types.Content(parts=[types.Part(text="a"), _RESPONSE])},
        Unprocessable,
        "either text or function responses",
    ),
    Refusal(
        "no session",
        {"message": say("hi"), "origin": Origin(app="app", user="u", session="none")},
        NotFound,
        "no session 'none'",
    ),
    Refusal("metadata", {"message": say("hi"), "custom_metadata": {1: 2}}, Unprocessable, "set up"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
async def test_a_request_that_cannot_run_is_refused_before_the_first_record(case: Refusal) -> None:
    """Nothing is recorded and nothing is stored."""
    runner = await new_runner(_llm(Scripted.saying("never")))
    with pytest.raises(case.error, match=case.says):
        await run(runner, **case.request)
    assert await history(runner) == []


async def test_custom_metadata_is_on_every_event() -> None:
    """What the caller tags a run with reaches its events."""
    runner = await new_runner(_llm(Scripted.saying("one two")))
    started, events = await run(runner, message=say("hi"), custom_metadata={"tag": "x"})
    assert {event["customMetadata"]["tag"] for event in events} == {"x"}
    assert bytes(CUSTOM_METADATA.read(started)["tag"]) == b'"x"'


async def test_agents_given_are_not_read_again() -> None:
    """The caller may hand over a list it already has."""
    runner: Runner = await new_runner(_llm(Scripted.saying("x")))
    request = RunRequest(run="run-1", origin=ORIGIN, message=say("hi"))
    given = [Agent(name="somebody")]
    started, _ = await drain(RunnerSource(runner, request, agents=given).records())
    assert started.agents == given
