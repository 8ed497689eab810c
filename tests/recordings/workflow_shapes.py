"""Runs of workflows and of the older composite agents, as roots of an app."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Context, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.events.request_input import RequestInput
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import exit_loop
from google.adk.workflow import FunctionNode, JoinNode, RetryConfig, Workflow
from tests.answers import respond
from tests.app_runner import AppRunner
from tests.recordings.shapes import Shape, Takes, agent, app_of, one

from adk_prism.models import Call, Fail, Pause, Say, Turn, say


async def sequential() -> Takes:
    return await one(
        SequentialAgent(
            name="steps",
            sub_agents=[agent("first", "First things first."), agent("second", "Then the rest.")],
        )
    )


async def parallel() -> Takes:
    speakers = [
        agent("left", "One two three four five."),
        agent("right", "Uno dos tres cuatro cinco."),
    ]
    return await one(ParallelAgent(name="both", sub_agents=[*speakers]))


async def loop() -> Takes:
    def script(request: LlmRequest) -> Turn:
        said = sum(1 for content in request.contents if content.role == "model")
        return say(f"Round {said + 1}.") if said < 2 else Turn((Call("exit_loop"),))

    rounds = agent("rounds", script, tools=[exit_loop])
    return await one(LoopAgent(name="circle", sub_agents=[rounds], max_iterations=5))


async def legacy_failure() -> Takes:
    broken = agent("broken", lambda request: Turn((Say("I begin"), Fail(ValueError("synthetic")))))
    return await one(SequentialAgent(name="steps", sub_agents=[broken]))


def _fan_out() -> Workflow:
    def prepare(node_input: Any) -> str:
        return "prepared"

    def finish(node_input: dict[str, Any]) -> str:
        return " and ".join(sorted(node_input))

    readers = (agent("reader_one", "I read page one."), agent("reader_two", "I read page two."))
    join = JoinNode(name="together")
    return Workflow(name="reading", edges=[("START", prepare, readers, join, finish)])


async def workflow() -> Takes:
    return await one(_fan_out())


async def workflow_resumable() -> Takes:
    return {"": await AppRunner(app_of(_fan_out(), resumable=True)).send("go")}


async def workflow_loop() -> Takes:
    def count(ctx: Context) -> str:
        ctx.state["rounds"] = ctx.state.get("rounds", 0) + 1
        ctx.route = "again" if ctx.state["rounds"] < 3 else "enough"
        return f"round {ctx.state['rounds']}"

    def done(node_input: str) -> str:
        return f"done after {node_input}"

    counter = FunctionNode(func=count)
    edges = [("START", counter), (counter, {"again": counter, "enough": done})]
    return await one(Workflow(name="counting", edges=edges))


async def retried_node() -> Takes:
    def shaky(ctx: Context) -> str:
        if ctx.attempt_count < 3:
            raise TimeoutError("synthetic")
        return "worked"

    again = RetryConfig(max_attempts=3, initial_delay=0.0, jitter=0.0)
    node = FunctionNode(func=shaky, retry_config=again)
    return await one(Workflow(name="persistent", edges=[("START", node, agent("teller", "Done."))]))


async def failed_node() -> Takes:
    def broken(node_input: Any) -> str:
        raise ValueError("synthetic")

    slow = agent("slow_reader", lambda request: Turn((Say("I read and "), Pause(5), Say("read"))))
    return await one(Workflow(name="doomed", edges=[("START", (broken, slow))]))


async def workflow_input() -> Takes:
    async def ask(node_input: Any) -> AsyncGenerator[RequestInput, None]:
        yield RequestInput(message="Which colour?", response_schema={"type": "string"})

    def paint(node_input: Any) -> str:
        return f"painted {node_input}"

    stage = AppRunner(app_of(Workflow(name="painting", edges=[("START", ask, paint)])))
    first = await stage.send("go")
    call = first.call("adk_request_input")
    return {"": first, "2": await stage.answer(respond(call, {"result": "blue"}))}


async def workflow_confirmation() -> Takes:
    def launch(node_input: Any) -> str:
        return "launched"

    def root() -> Workflow:
        gated = FunctionNode(func=launch, require_confirmation=True, rerun_on_resume=True)
        return Workflow(name="countdown", edges=[("START", gated)])

    takes: Takes = {}
    for suffix, approved in (("2", True), ("denied", False)):
        stage = AppRunner(app_of(root()))
        takes[""] = await stage.send("go")
        # A node of a workflow asks with an input request, not with a confirmation call.
        call = takes[""].call("adk_request_input")
        takes[suffix] = await stage.answer(respond(call, {"confirmed": approved}))
    return takes


WORKFLOW_SHAPES: dict[str, Shape] = {
    "sequential": sequential,
    "parallel": parallel,
    "loop": loop,
    "legacy_failure": legacy_failure,
    "workflow": workflow,
    "workflow_resumable": workflow_resumable,
    "workflow_loop": workflow_loop,
    "workflow_input": workflow_input,
    "workflow_confirmation": workflow_confirmation,
    "retried_node": retried_node,
    "failed_node": failed_node,
}
