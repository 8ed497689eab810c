"""The state before and after each node, folded from the log, is what ADK itself has at that moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from google.adk.agents import Context, ParallelAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import BaseNode, JoinNode, Workflow
from tests.adk.recorded_runs import RecordedRun, State, Witness, watch
from tests.adk.runs import ORIGIN, new_runner
from tests.adk.runs import state as stored_state
from tests.recordings.shapes import agent, calling

from adk_prism.adk.sessions import Sessions
from adk_prism.models import Call, Turn, read_conversation

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

BEFORE = {"old": 1, "user:name": "Ada", "app:motto": "prism", "nested": {"a": {"b": [1, 2]}}}


def remember(key: str, value: int, tool_context: ToolContext) -> dict[str, bool]:
    """Remember."""
    tool_context.state[key] = {"value": value}
    tool_context.state["user:last"] = key
    tool_context.state["temp:scratch"] = "never shown"
    return {"ok": True}


def forget(tool_context: ToolContext) -> dict[str, bool]:
    """Set a key to nothing, and change one in place."""
    tool_context.state["old"] = None
    tool_context.state["nested"]["a"]["b"].append(3)
    return {"ok": True}


def _keeper(name: str, *calls: Call, **fields: Any) -> Any:
    script = calling(*calls, then=f"{name} is done.")
    return agent(name, script, tools=[remember, forget], **fields)


def _tools() -> BaseNode:
    calls = (
        Call("remember", {"key": "k1", "value": 1}),
        Call("remember", {"key": "k2", "value": 2}),
    )
    return _keeper("root", *calls, output_key="last_words")


def _in_place() -> BaseNode:
    return _keeper("root", Call("forget"))


def _sequence() -> BaseNode:
    first = _keeper("first", Call("remember", {"key": "k1", "value": 1}), output_key="said")
    second = _keeper("second", Call("forget"))
    return SequentialAgent(name="steps", sub_agents=[first, second])


def _callbacks() -> BaseNode:
    def before(callback_context: Context) -> None:
        callback_context.state["began"] = True

    def after(callback_context: Context) -> None:
        callback_context.state["ended"] = True

    inner = agent("inner", "Hello.", before_agent_callback=before, after_agent_callback=after)
    return SequentialAgent(name="steps", sub_agents=[inner, agent("outer", "Bye.")])


def _workflow() -> BaseNode:
    def brief(ctx: Context, node_input: Any) -> str:
        ctx.state["brief"] = {"words": 2}
        return "two words"

    def close(ctx: Context, node_input: Any) -> str:
        ctx.state["closed"] = list(ctx.state["brief"])
        return "closed"

    left = _keeper("left", Call("remember", {"key": "l", "value": 1}))
    right = _keeper("right", Call("remember", {"key": "r", "value": 2}))
    join = JoinNode(name="join")
    return Workflow(name="flow", edges=[("START", brief, (left, right), join, close)])


def _parallel() -> BaseNode:
    left = _keeper("left", Call("remember", {"key": "l", "value": 1}))
    right = _keeper("right", Call("remember", {"key": "r", "value": 2}))
    return ParallelAgent(name="both", sub_agents=[left, right])


def _hidden() -> BaseNode:
    inner = _keeper("inner", Call("remember", {"key": "deep", "value": 1}), description="Inner.")
    return agent(
        "root", calling(Call("inner", {"request": "x"}), then="Done."), tools=[AgentTool(inner)]
    )


def _transfer() -> BaseNode:
    def front(request: LlmRequest) -> Turn:
        if read_conversation(request).answers:
            return Turn((Call("transfer_to_agent", {"agent_name": "desk"}),))
        return Turn((Call("remember", {"key": "k", "value": 1}),))

    desk = agent("desk", "The desk.", description="Desk.", output_key="desk_said")
    return agent("front", front, tools=[remember], sub_agents=[desk])


SHAPES: list[Callable[[], BaseNode]] = [
    _tools,
    _in_place,
    _sequence,
    _callbacks,
    _workflow,
    _parallel,
    _hidden,
    _transfer,
]


async def _watched(
    root: BaseNode, service: BaseSessionService | None = None
) -> tuple[RecordedRun, Witness, Runner]:
    witness, service = Witness(), service or InMemorySessionService()
    app = App(name=ORIGIN.app, root_agent=root, plugins=[witness])
    await Sessions(service).create(ORIGIN, BEFORE)
    runner = Runner(app=app, session_service=service)
    return (await watch(runner)).check(), witness, runner


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__[1:])
async def test_each_state_is_the_one_that_adk_shows(shape: Callable[[], BaseNode]) -> None:
    """Starts of agents, and starts and ends of tools, compared with what a plugin reads there."""
    seen, witness, _ = await _watched(shape())
    folded = [_unkind(item) for item in seen.states()]
    for item in witness.seen:
        bound, what, state = item
        if bound == "end" and what.startswith("agent"):
            continue  # told later, by ADK's node runner: see below
        assert (bound, what, state) in folded, (item, [f for f in folded if f[:2] == item[:2]])


def _unkind(item: tuple[str, str, State]) -> tuple[str, str, State]:
    bound, what, state = item
    return bound, what.replace("workflow ", "agent "), state


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__[1:])
async def test_the_last_state_is_the_one_that_is_stored(
    shape: Callable[[], BaseNode], service: BaseSessionService
) -> None:
    """What the log adds up to is what the session service gives back."""
    seen, _, runner = await _watched(shape(), service)
    assert seen.states()[-1][2] == await stored_state(runner)


async def test_each_step_leaves_what_the_next_one_finds_stored() -> None:
    """Read from the session service itself, by a function between the steps."""
    service = InMemorySessionService()
    stored: list[State] = []

    def put(ctx: Context, node_input: Any) -> str:
        ctx.state["step"] = ctx.state.get("step", 0) + 1
        return "put"

    async def look(node_input: Any) -> str:
        stored.append(await Sessions(service).state(ORIGIN))
        return "looked"

    teller = agent("teller", "Words.", output_key="told")
    root = Workflow(name="flow", edges=[("START", put, teller, look)])
    runner = await new_runner(root, service, state={"old": 1})
    seen = (await watch(runner)).check()
    states = seen.states()
    (found,) = [
        state for bound, what, state in states if (bound, what) == ("start", "function look")
    ]
    (left,) = [state for bound, what, state in states if (bound, what) == ("end", "agent teller")]
    assert found == left == stored[0] == {"old": 1, "step": 1, "told": "Words."}
    (after_put,) = [s for bound, what, s in states if (bound, what) == ("end", "function put")]
    assert after_put == {"old": 1, "step": 1}


async def test_what_a_callback_writes_last_is_in_the_state_after_the_agent() -> None:
    """For an agent of the newer runtime, whose end is told after its callbacks."""

    def after(callback_context: Context) -> None:
        callback_context.state["ended"] = True

    runner = await new_runner(agent("root", "Hello.", after_agent_callback=after))
    seen = (await watch(runner)).check()
    assert seen.states()[-1] == ("end", "agent root", {"ended": True})


async def test_a_tools_write_is_there_before_any_event_tells_of_it() -> None:
    seen, _, _ = await _watched(_tools())
    ends = [
        state for bound, what, state in seen.states() if (bound, what) == ("end", "tool remember")
    ]
    assert ends[0]["k1"] == {"value": 1}
    assert ends[1]["k2"] == {"value": 2}
    assert all("temp:scratch" not in state for _, _, state in seen.states())


def _writer(name: str, turn: asyncio.Barrier) -> Callable[..., Any]:
    async def write(key: str, tool_context: ToolContext) -> dict[str, bool]:
        """Write a key of its own and one of all, then wait until all have written."""
        tool_context.state[key] = name
        tool_context.state["last"] = key
        await turn.wait()
        return {"ok": True}

    write.__name__ = name
    return write


def _at_once() -> BaseNode:
    turn = asyncio.Barrier(3)
    calls = Call("one", {"key": "a"}), Call("two", {"key": "b"}), Call("two", {"key": "c"})
    tools = [_writer("one", turn), _writer("two", turn)]
    return agent("root", calling(*calls, then="Done."), tools=tools)


def _by_agents_at_once() -> BaseNode:
    turn = asyncio.Barrier(3)
    sides = [
        agent(
            name,
            calling(Call(f"write_{key}", {"key": key}), then="Done."),
            tools=[_writer(f"write_{key}", turn)],
        )
        for name, key in [("left", "a"), ("middle", "b"), ("right", "c")]
    ]
    return ParallelAgent(name="both", sub_agents=sides)


@pytest.mark.parametrize("shape", [_at_once, _by_agents_at_once])
async def test_of_tools_that_run_at_once_each_leaves_what_it_wrote(
    shape: Callable[[], BaseNode], service: BaseSessionService
) -> None:
    """Whichever ends first finds what the others wrote; none is told as another's, at a start or an end."""
    seen, _, runner = await _watched(shape(), service)
    tools = {start.node: start for start in seen.starts if start.kind == "tool"}
    asked = {call["id"]: call["args"]["key"] for call in seen.calls()}
    told = [(asked[tools[end.node].call], set(end.state)) for end in seen.ends if end.node in tools]
    assert sorted(key for key, _ in told) == ["a", "b", "c"]
    assert all(written - {"last"} == {key} for key, written in told)
    assert not any(start.state for start in seen.starts)
    assert not any(end.state for end in seen.ends if end.node not in tools)
    assert seen.states()[-1][2] == await stored_state(runner)


async def test_a_log_grows_with_changes_only(service: BaseSessionService) -> None:
    """Nodes that change nothing carry no state, however large it is."""
    large = {f"key{i}": {"value": list(range(20))} for i in range(200)}
    root = SequentialAgent(name="steps", sub_agents=[agent(f"a{i}", "Hm.") for i in range(5)])
    seen = (await watch(await new_runner(root, service, state=large))).check()
    assert all(not n.state and not n.gone for n in (*seen.starts, *seen.ends))


async def test_a_key_that_went_away_is_told() -> None:
    """ADK has no way to delete a key, but code that reaches into the session has."""

    def wipe(tool_context: ToolContext) -> dict[str, bool]:
        """Wipe."""
        del tool_context.session.state["old"]
        return {"ok": True}

    root = agent("root", calling(Call("wipe"), then="Gone."), tools=[wipe])
    seen = (await watch(await new_runner(root, state={"old": 1, "kept": 2}))).check()
    (end,) = [end for end in seen.ends if end.node == seen.node("wipe").node]
    assert end.gone == ["old"]


async def test_secrets_do_not_enter_with_the_state() -> None:
    """State goes through the same redaction as everything else."""

    def sign_in(tool_context: ToolContext) -> dict[str, bool]:
        """Sign in."""
        credential = {
            "authType": "oauth2",
            "oauth2": {"clientSecret": "hush", "accessToken": "hush"},
        }
        tool_context.state["credential"] = credential
        return {"ok": True}

    root = agent("root", calling(Call("sign_in"), then="In."), tools=[sign_in])
    seen = (await watch(await new_runner(root))).check()
    logged = json.dumps([{k: bytes(v).decode() for k, v in end.state.items()} for end in seen.ends])
    assert "credential" in logged
    assert "hush" not in logged


async def test_what_json_cannot_hold_is_still_told() -> None:
    def odd(tool_context: ToolContext) -> dict[str, bool]:
        """Write odd things."""
        tool_context.state["odd"] = {"number": float("nan"), "thing": object}
        return {"ok": True}

    root = agent("root", calling(Call("odd"), then="Odd."), tools=[odd])
    seen = (await watch(await new_runner(root))).check()
    (end,) = [end for end in seen.ends if end.node == seen.node("odd").node]
    assert json.loads(bytes(end.state["odd"]))["number"] is None


async def test_a_value_is_written_once_in_one_way() -> None:
    """Beside one that JSON cannot hold, a date is what its event says: else a node would change it."""

    def odd(tool_context: ToolContext) -> dict[str, bool]:
        """Write odd things."""
        tool_context.state["thing"] = object
        tool_context.state["day"] = date(2022, 8, 1)
        tool_context.state["share"] = Decimal("0.5")
        return {"ok": True}

    root = agent("root", calling(Call("odd"), then="Odd."), tools=[odd])
    seen = (await watch(await new_runner(root))).check()
    told = [end.state["day"] for end in seen.ends if "day" in end.state]
    assert [bytes(value) for value in told] == [b'"2022-08-01"']
