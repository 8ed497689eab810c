"""Every node of a workflow is seen: functions, joins, agents, tools, nested and dynamic ones."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import Context, SequentialAgent
from google.adk.events.request_input import RequestInput
from google.adk.tools import FunctionTool
from google.adk.workflow import FunctionNode, JoinNode, RetryConfig, Workflow, node
from tests.adk.recorded_runs import raw, watch
from tests.adk.runs import new_runner
from tests.recordings.shapes import agent, calling

from adk_prism.adk.request import CallAnswer
from adk_prism.log.entry import NodeEnded, NodeStarted
from adk_prism.models import Call, Fail, Pause, Say, Turn

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]


def prepare(node_input: Any) -> str:
    return "prepared"


def silent(node_input: Any) -> None:
    """Return nothing and change nothing: no event will tell of it."""


def finish(node_input: Any) -> str:
    return str(node_input)


def _fan_out() -> Workflow:
    readers = (agent("reader_one", "Page one."), agent("reader_two", "Page two."))
    join = JoinNode(name="together")
    return Workflow(name="reading", edges=[("START", prepare, silent, readers, join, finish)])


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
async def test_every_node_of_a_graph_is_seen(resumable: bool) -> None:
    """Also one that no event tells of. All stand in the workflow, in the order in which they ran."""
    seen = (await watch(await new_runner(_fan_out(), resumable=resumable))).check()
    bounds = [line for line in seen.story if line[0] in "<>"]
    assert bounds[:5] == [
        "> workflow reading",
        "> function prepare",
        "< prepare finished",
        "> function silent",
        "< silent finished",
    ]
    assert sorted(bounds[5:9]) == [
        "< reader_one finished",
        "< reader_two finished",
        "> agent reader_one",
        "> agent reader_two",
    ]
    assert bounds[9:] == [
        "> join together",
        "< together finished",
        "> function finish",
        "< finish finished",
        "< reading finished",
    ]
    assert set(seen.parents().values()) == {"", "workflow reading"}
    assert seen.node("silent").path == "reading@1/silent@1"
    assert seen.node("reader_two").branch == "reader_two@1"


async def test_a_nodes_output_comes_between_its_start_and_its_end() -> None:
    seen = (await watch(await new_runner(_fan_out()))).check()
    story = seen.story
    told = story.index("prepare: output")
    assert story[told - 1 : told + 2] == [
        "> function prepare",
        "prepare: output",
        "< prepare finished",
    ]


async def test_a_function_that_blocks_the_loop_has_its_true_time() -> None:
    """Its start can only be written when it is over, and says when it was."""

    def block(node_input: Any) -> str:
        time.sleep(0.2)
        return "done"

    seen = (await watch(await new_runner(Workflow(name="flow", edges=[("START", block)])))).check()
    node = seen.node("block").node
    times = {
        type(entry.record): entry.time
        for entry in seen.entries
        if isinstance(entry.record, NodeStarted | NodeEnded) and entry.record.node == node
    }
    assert times[NodeEnded] - times[NodeStarted] >= 0.19
    assert [entry.time for entry in seen.entries] == sorted(entry.time for entry in seen.entries)


async def test_the_rounds_of_a_graph_are_counted() -> None:
    def count(ctx: Context) -> str:
        ctx.state["rounds"] = ctx.state.get("rounds", 0) + 1
        ctx.route = "again" if ctx.state["rounds"] < 3 else "enough"
        return f"round {ctx.state['rounds']}"

    counter = FunctionNode(func=count)
    edges = [("START", counter), (counter, {"again": counter, "enough": finish})]
    seen = (await watch(await new_runner(Workflow(name="counting", edges=edges)))).check()
    rounds = [n for n in seen.starts if n.name == "count"]
    assert [n.iteration for n in rounds] == [1, 2, 3]
    assert [n.path for n in rounds] == [f"counting@1/count@{i}" for i in (1, 2, 3)]


async def test_a_node_that_is_tried_again_fails_once_for_each_attempt() -> None:
    """Each attempt is a node of its own; what failed before does not fail the workflow."""

    def shaky(ctx: Context) -> str:
        if ctx.attempt_count < 3:
            raise TimeoutError("synthetic")
        return "worked"

    again = RetryConfig(max_attempts=3, initial_delay=0.0, jitter=0.0)
    edges = [("START", FunctionNode(func=shaky, retry_config=again), agent("teller", "Done."))]
    seen = (await watch(await new_runner(Workflow(name="patient", edges=edges)))).check()
    assert seen.story == [
        "> workflow patient",
        "> function shaky",
        "shaky: TimeoutError",
        "< shaky failed TimeoutError",
        "> function shaky#2",
        "shaky: TimeoutError",
        "< shaky#2 failed TimeoutError",
        "> function shaky#3",
        "shaky: output",
        "< shaky#3 finished",
        "> agent teller",
        "teller: text",
        "< teller finished",
        "< patient finished",
    ]


async def test_an_agent_that_is_tried_again() -> None:
    attempts = []

    def script(request: Any) -> Turn:
        attempts.append(1)
        return Turn((Say("I try"), *((Fail(OSError("x")),) if len(attempts) == 1 else ())))

    again = RetryConfig(max_attempts=2, initial_delay=0.0, jitter=0.0)
    shaky = agent("shaky", script, retry_config=again)
    seen = (await watch(await new_runner(Workflow(name="flow", edges=[("START", shaky)])))).check()
    assert seen.story == [
        "> workflow flow",
        "> agent shaky",
        "shaky: OSError",
        "< shaky failed OSError",
        "> agent shaky#2",
        "shaky: text",
        "< shaky#2 finished",
        "< flow finished",
    ]


async def test_a_failed_node_fails_its_workflow_and_cancels_its_siblings() -> None:
    def broken(node_input: Any) -> str:
        raise ValueError("synthetic")

    slow = agent("slow", lambda request: Turn((Say("I read and "), Pause(5), Say("read"))))
    root = Workflow(name="doomed", edges=[("START", (broken, slow))])
    seen = (await watch(await new_runner(root))).check()
    assert seen.ended.outcome == "failed"
    assert seen.status("broken") == "failed ValueError"
    assert seen.status("slow") == "cancelled"
    assert seen.status("doomed") == "failed ValueError"
    failed = seen.story.index("broken: ValueError")
    assert seen.story.index("< broken failed ValueError") > failed


async def test_a_failure_goes_up_through_nested_workflows() -> None:
    def broken(node_input: Any) -> str:
        raise ValueError("synthetic")

    inner = Workflow(name="inner", edges=[("START", broken)])
    outer = Workflow(name="outer", edges=[("START", prepare, inner)])
    seen = (await watch(await new_runner(outer))).check()
    assert seen.parents() == {
        "workflow outer": "",
        "function prepare": "workflow outer",
        "workflow inner": "workflow outer",
        "function broken": "workflow inner",
    }
    assert [seen.status(n) for n in ("prepare", "broken", "inner", "outer")] == [
        "finished",
        "failed ValueError",
        "failed ValueError",
        "failed ValueError",
    ]


async def test_a_node_that_survives_the_failure_of_one_it_ran() -> None:
    """It says something afterwards, so it has not failed with it."""

    def broken(node_input: Any) -> str:
        raise ValueError("synthetic")

    async def careful(ctx: Context, node_input: Any) -> AsyncGenerator[Any, None]:
        try:
            await ctx.run_node(broken, "x")
        except Exception:
            yield "survived"

    root = Workflow(
        name="flow", edges=[("START", FunctionNode(func=careful, rerun_on_resume=True), finish)]
    )
    seen = (await watch(await new_runner(root))).check()
    assert seen.status("broken") == "failed ValueError"
    assert seen.parents()["node broken"] == "function careful"
    assert seen.status("careful") == seen.status("flow") == "finished"


async def test_nodes_that_are_made_while_the_run_runs() -> None:
    """Nothing in the app names them; agents turn out to be agents."""

    async def dispatch(ctx: Context, node_input: Any) -> str:
        said = await ctx.run_node(agent("improvised", "Out of nothing."), "x")
        return f"{said} {await ctx.run_node(prepare, 'x')}"

    root = Workflow(name="flow", edges=[("START", node(dispatch, rerun_on_resume=True))])
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents() == {
        "workflow flow": "",
        "function dispatch": "workflow flow",
        "agent improvised": "function dispatch",
        "node prepare": "function dispatch",
    }


async def test_a_tool_as_a_node() -> None:
    """It is one node, of kind tool."""

    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    def words(node_input: Any) -> dict[str, str]:
        return {"text": "hello"}

    root = Workflow(name="flow", edges=[("START", words, FunctionTool(shout), finish)])
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents() == {
        "workflow flow": "",
        "function words": "workflow flow",
        "tool shout": "workflow flow",
        "function finish": "workflow flow",
    }
    assert seen.node("shout").call
    assert seen.status("shout") == "finished"


async def test_a_tool_node_that_raises() -> None:
    def broken(text: str) -> str:
        """Break."""
        raise KeyError("synthetic")

    def words(node_input: Any) -> dict[str, str]:
        return {"text": "hello"}

    root = Workflow(name="flow", edges=[("START", words, FunctionTool(broken))])
    seen = (await watch(await new_runner(root))).check()
    assert seen.status("broken") == "failed KeyError"
    assert seen.status("flow") == "failed KeyError"


async def test_a_workflow_among_the_tools() -> None:
    """It runs in the tool that calls it, and carries the call."""

    def step(node_input: str) -> str:
        return "done"

    flow = Workflow(name="flow", description="Flows.", input_schema=str, edges=[("START", step)])
    script = calling(Call("flow", {"request": "x"}, "c1"), then="Done.")
    root = agent("root", script, tools=[flow])
    seen = (await watch(await new_runner(root, resumable=True))).check()
    assert seen.parents() == {
        "agent root": "",
        "tool flow": "agent root",
        "workflow flow": "tool flow",
        "function step": "workflow flow",
    }
    assert seen.node("flow", "workflow").call == "c1"
    assert seen.node("step").call == ""


async def test_older_agents_inside_a_workflow() -> None:
    steps = SequentialAgent(name="steps", sub_agents=[agent("one", "1."), agent("two", "2.")])
    seen = (
        await watch(await new_runner(Workflow(name="flow", edges=[("START", steps, finish)])))
    ).check()
    assert seen.parents() == {
        "workflow flow": "",
        "workflow steps": "workflow flow",
        "agent one": "workflow steps",
        "agent two": "workflow steps",
        "function finish": "workflow flow",
    }
    bounds = [line for line in seen.story if line[0] in "<>"]
    assert bounds[2:7] == [
        "> agent one",
        "< one finished",
        "> agent two",
        "< two finished",
        "< steps finished",
    ]


async def test_an_older_agent_that_fails_inside_a_workflow() -> None:
    """Its end waits for the error's event, which bears the name of the node around it."""
    broken = agent("broken", lambda request: Turn((Say("I begin"), Fail(ValueError("x")))))
    steps = SequentialAgent(name="steps", sub_agents=[broken])
    seen = (await watch(await new_runner(Workflow(name="flow", edges=[("START", steps)])))).check()
    error = next(i for i, line in enumerate(seen.story) if line.endswith(": ValueError"))
    assert seen.story[error + 1 :] == [
        "< broken failed ValueError",
        "< steps failed ValueError",
        "< flow failed ValueError",
    ]


async def test_a_node_that_asks_a_person_waits() -> None:
    """So does its workflow; with the answer the rest runs."""

    async def ask(node_input: Any) -> AsyncGenerator[RequestInput, None]:
        yield RequestInput(interrupt_id="q1", message="Which colour?")

    def paint(node_input: Any) -> str:
        return f"painted {node_input}"

    runner = await new_runner(Workflow(name="painting", edges=[("START", prepare, ask, paint)]))
    asked = (await watch(runner)).check()
    assert asked.status("prepare") == "finished"
    assert asked.status("ask") == asked.status("painting") == "waiting"
    answer = CallAnswer(call="q1", name="adk_request_input", response=raw({"result": "blue"}))
    done = (await watch(runner, run="run-2", answers=[answer])).check()
    assert done.status("paint") == done.status("painting") == "finished"
    assert {n.name for n in done.starts} == {"painting", "paint"}
