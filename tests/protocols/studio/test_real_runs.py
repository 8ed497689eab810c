"""Traces of runs that really happened, recorded with their nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import Context, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext, exit_loop
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import BaseNode, Workflow, node
from google.genai import types
from tests.protocols.studio.logs import EXTRAS, Said, frames, without_overlay
from tests.recordings.shapes import agent, calling

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.apps.tour.agent import tour_app
from adk_prism.errors import ignore
from adk_prism.features.app_graph.graph import read_graph
from adk_prism.log.entry import Entry, Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say
from adk_prism.protocols.registry import protocol
from adk_prism.runs.recorder import RunRecorder
from adk_prism.testing.laws import check_laws

ORIGIN = Origin(app="app", user="user", session="abc123")
RUN = RunId("run-1")


async def recorded(
    root: BaseNode, prompt: str = "go", state: dict[str, Any] | None = None
) -> list[Entry]:
    """Let an app run once, and return its log."""
    sessions = InMemorySessionService()
    runner = Runner(
        app=App(name="app", root_agent=root),
        session_service=sessions,
        artifact_service=InMemoryArtifactService(),
    )
    await Sessions(sessions).create(ORIGIN, state)
    log = MemoryLog()
    await log.open()
    request = RunRequest(run=RUN, origin=ORIGIN, message=types.UserContent(prompt))
    await RunRecorder(log, RUN, RunnerSource(runner, request, nodes=True), ignore).record()
    return [entry async for batch in log.read(RUN) for entry in batch]


def traces(entries: list[Entry], kind: str) -> list[dict[str, Any]]:
    return [data for name, data in frames(entries) if name == "trace" and data["type"] == kind]


# --------------------------------------------------------------------------- the schema's example


def search(query: str, tool_context: ToolContext) -> str:
    """Search for something."""
    tool_context.state["results"] = "..."
    return "..."


def cite(source: str) -> str:
    """Cite a source."""
    return source


def respond(callback_context: Any) -> None:
    """Write down what was said, when the agent is done."""
    callback_context.state["response"] = "..."


def researcher() -> LlmAgent:
    def script(request: LlmRequest) -> Turn:
        if read_conversation(request).answers:
            return say("Based on my research...")
        return Turn((Call("search", {"query": "test"}),))

    return LlmAgent(
        name="researcher",
        model=ScriptedModel(model="gemini-2.5-flash", script=script),
        tools=[search, cite],
        after_agent_callback=respond,
    )


async def test_an_agent_like_the_one_of_the_schema_gives_its_stream() -> None:
    """Field by field, but for the time it took; in between only changes of state and pieces of text."""
    entries = await recorded(researcher(), state={"query": "test"})
    said: list[Said] = []
    for name, data in frames(entries):
        if isinstance(data, dict):
            hidden = EXTRAS - {"node"} if name == "trace" else EXTRAS
            shown = without_overlay(data)
            data = {key: value for key, value in shown.items() if key not in hidden}
            data.pop("duration_ms", None)
        said.append((name, data))
    calling = ("log", {"message": "Calling gemini-2.5-flash (tools: 2)"})
    before, after = {"query": "test"}, {"query": "test", "results": "..."}
    last = {**after, "response": "..."}
    example = [
        ("session", "abc123"),
        ("trace", _trace("node_start", before, {}, node="researcher", step=1)),
        calling,
        ("tool_call", {"name": "search", "args": {"query": "test"}}),
        ("tool_result", {"name": "search", "result": "..."}),
        calling,
    ]
    kept = [item for item in said if not (item[0] == "trace" and item[1]["type"] == "state")]
    assert kept[: len(example)] == example
    assert "".join(data for name, data in said if name == "chunk") == "Based on my research..."
    ended = next(data for name, data in kept if name == "trace" and data["type"] == "node_end")
    assert ended["state_snapshot"]["input"] == before
    assert ended["state_snapshot"]["output"].items() >= after.items()
    assert kept[-2:] == [("trace", _trace("done", before, last, total_steps=1)), ("end", "")]


def _trace(kind: str, before: Any, after: Any, **more: Any) -> dict[str, Any]:
    snapshot = {"input": before, "output": after}
    return {"type": kind, **more, "state_snapshot": snapshot, "state_keys": list(after or before)}


# --------------------------------------------------------------------------- other shapes


async def test_the_rounds_of_a_loop() -> None:
    """Each is a step of its own, inside the loop, with its number."""

    def script(request: LlmRequest) -> Turn:
        said = sum(1 for content in request.contents if content.role == "model")
        return say(f"Round {said + 1}.") if said < 2 else Turn((Call("exit_loop"),))

    rounds = LlmAgent(name="rounds", model=ScriptedModel(script=script), tools=[exit_loop])
    entries = await recorded(LoopAgent(name="circle", sub_agents=[rounds], max_iterations=5))
    starts = traces(entries, "node_start")
    assert [(data["node"], data["step"], data.get("iteration", 1)) for data in starts] == [
        ("circle", 1, 1),
        ("rounds", 2, 1),
        ("rounds", 3, 2),
        ("rounds", 4, 3),
    ]
    assert {data.get("parent") for data in starts[1:]} == {starts[0]["id"]}


PROMPTS = (
    "workflow",
    "agent tool",
    "parallel specialists",
    "transfer",
    "recovered error",
    "exception",
    "approval",
)


@pytest.mark.parametrize("prompt", PROMPTS)
async def test_the_tour_keeps_the_laws_and_its_nodes_are_in_the_graph(
    prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it shows; each node is found by its path."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    root = tour_app(delay=0).root_agent
    entries = await recorded(root, prompt)
    assert check_laws(entries, [protocol("studio").format()]) == []
    graph = read_graph(root)
    ids = {each.id for each in graph.nodes}
    for data in traces(entries, "node_start"):
        assert _place(data["path"]) in ids
        assert "derived" not in data


async def test_an_agent_inside_a_tool_shows_in_the_trace_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its words are the tool's result, and no part of the answer."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    entries = await recorded(tour_app(delay=0).root_agent, "agent tool")
    starts = {data["node"]: data for data in traces(entries, "node_start")}
    assert starts["translator"]["parent"] == starts["tour"]["id"]
    text = "".join(data for name, data in frames(entries) if name == "chunk")
    assert text == "I ask the translator.The translator says: Bom dia (synthetic)"
    inside = [
        json.dumps(data)
        for _, data in frames(entries)
        if isinstance(data, dict) and "within" in data
    ]
    assert len(inside) == 1
    assert "Calling tour-offline" in inside[0]


# --------------------------------------------------------------------------- paths


def pair(node_input: Any) -> list[str]:
    """Return two items."""
    return ["a", "b"]


def work(node_input: Any) -> str:
    """Do something with an item."""
    return f"{node_input}!"


@node(rerun_on_resume=True)
async def lead(ctx: Context, node_input: Any) -> Any:
    """Start other nodes."""
    await ctx.run_node(work, "x")
    return await ctx.run_node(agent("helper", "Done."), "y")


def asking() -> LlmAgent:
    """An agent with agents behind tools: one with a tool agent of its own, and an older composite."""
    low = agent("low", "Low.")
    middle = agent(
        "middle", calling(Call("low", {"request": "q"}), then="M."), tools=[AgentTool(low)]
    )
    steps = SequentialAgent(name="steps", sub_agents=[agent("one", "1"), agent("two", "2")])
    calls = (Call("middle", {"request": "q"}), Call("steps", {"request": "r"}))
    return agent("root", calling(*calls, then="Ok."), tools=[AgentTool(middle), AgentTool(steps)])


def inner() -> Workflow:
    return Workflow(name="inner", edges=[("START", work)])


def flow(*steps: Any) -> Workflow:
    return Workflow(name="flow", edges=[("START", *steps)])


PATHS = (
    (
        asking,
        "root@1 root@1/middle@1 root@1/middle@1/low@1 root@1/steps@1 root@1/steps@1/one@1"
        " root@1/steps@1/two@1",
    ),
    (
        lambda: flow(pair, node(work, parallel_worker=True)),
        "flow@1 flow@1/pair@1 flow@1/work@1 flow@1/work@1.1 flow@1/work@1.2",
    ),
    (
        lambda: flow(pair, node(agent("writer", "Hi."), parallel_worker=True)),
        "flow@1 flow@1/pair@1 flow@1/writer@1 flow@1/writer@1.1 flow@1/writer@1.2",
    ),
    (
        lambda: flow(pair, node(inner(), parallel_worker=True)),
        "flow@1 flow@1/inner@1 flow@1/inner@1.1 flow@1/inner@1.1/work@1 flow@1/inner@1.2"
        " flow@1/inner@1.2/work@1 flow@1/pair@1",
    ),
    (
        lambda: ParallelAgent(name="both", sub_agents=[agent("left", "L."), agent("right", "R.")]),
        "both@1 both@1/left@1 both@1/right@1",
    ),
)


@pytest.mark.parametrize(("build", "paths"), PATHS, ids=range(len(PATHS)))
async def test_a_path_without_its_numbers_is_in_the_graph(
    build: Callable[[], BaseNode], paths: str
) -> None:
    """Agents behind tools, items of parallel workers and members of the older composite agents too."""
    starts = traces(await recorded(build()), "node_start")
    assert sorted(data["path"] for data in starts) == sorted(paths.split())
    ids = {each.id for each in read_graph(build()).nodes}
    assert {_place(data["path"]) for data in starts} <= ids


async def test_a_node_that_is_started_by_another_is_below_it() -> None:
    """No graph has it; the longest beginning of its path that is there is the node that started it."""
    starts = traces(await recorded(flow(lead)), "node_start")
    assert [data["path"] for data in starts] == [
        "flow@1",
        "flow@1/lead@1",
        "flow@1/lead@1/work@1",
        "flow@1/lead@1/helper@1",
    ]
    ids = {each.id for each in read_graph(flow(lead)).nodes}
    assert {_place(data["path"]).removesuffix(f"/{data['node']}") for data in starts[2:]} <= ids


def _place(path: str) -> str:
    return "/".join(step.partition("@")[0] for step in path.split("/"))
