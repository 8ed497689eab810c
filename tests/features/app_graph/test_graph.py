"""The graph of every shape in which ADK nests agents, tools and workflow nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.tools import FunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import BaseNode, FunctionNode, JoinNode, Workflow, node

from adk_prism.adk.agents import list_agents
from adk_prism.apps.tour.agent import tour_app
from adk_prism.features.app_graph import graph as graphs
from adk_prism.features.app_graph.graph import Graph, read_graph

Edges = list[tuple[str, str, str]]


def agent(name: str, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model="model", **fields)


def look_up(word: str) -> str:
    """Look a word up."""
    return word


def first(node_input: Any) -> str:
    return "first"


def second(node_input: Any) -> str:
    return "second"


def edges(graph: Graph) -> Edges:
    return [(edge.source, edge.target, edge.kind) for edge in graph.edges]


def around(name: str) -> Edges:
    return [("START", name, "sequence"), (name, "END", "sequence")]


@dataclass(frozen=True)
class Case:
    id: str
    build: Callable[[], BaseNode]
    kinds: dict[str, str]
    """Of what lies below the app's own START and END."""
    edges: Edges
    """Besides those of the app's own START and END."""


def _routes() -> Workflow:
    router = FunctionNode(func=first, name="router")
    left, right = FunctionNode(func=first, name="left"), FunctionNode(func=second, name="right")
    return Workflow(
        name="flow", edges=[("START", router), (router, {"a": left, "b": right, "again": router})]
    )


CASES = (
    Case(
        "an agent with a tool",
        lambda: agent("root", tools=[look_up]),
        {"root": "agent", "root/look_up": "tool"},
        [("root", "root/look_up", "tool")],
    ),
    Case(
        "transfer and delegation",
        lambda: agent(
            "root",
            sub_agents=[
                agent("guide"),
                agent("clerk", mode="single_turn"),
                agent("task", mode="task"),
            ],
        ),
        {
            "root": "agent",
            "root/guide": "agent",
            "root/clerk": "agent",
            "root/task": "agent",
            "root/task/finish_task": "tool",
        },
        [
            ("root", "root/guide", "transfer"),
            ("root", "root/clerk", "delegation"),
            ("root", "root/task", "delegation"),
            ("root/task", "root/task/finish_task", "tool"),
        ],
    ),
    Case(
        "an agent behind a tool",
        lambda: agent("root", tools=[AgentTool(agent("helper", tools=[look_up]))]),
        {"root": "agent", "root/helper": "agent", "root/helper/look_up": "tool"},
        [("root", "root/helper", "delegation"), ("root/helper", "root/helper/look_up", "tool")],
    ),
    Case(
        "sequential",
        lambda: SequentialAgent(name="steps", sub_agents=[agent("one"), agent("two")]),
        {
            "steps": "workflow",
            "steps/START": "start",
            "steps/one": "agent",
            "steps/two": "agent",
            "steps/END": "end",
        },
        [
            ("steps/START", "steps/one", "sequence"),
            ("steps/one", "steps/two", "sequence"),
            ("steps/two", "steps/END", "sequence"),
        ],
    ),
    Case(
        "parallel",
        lambda: ParallelAgent(name="both", sub_agents=[agent("one"), agent("two")]),
        {
            "both": "workflow",
            "both/START": "start",
            "both/one": "agent",
            "both/two": "agent",
            "both/END": "end",
        },
        [
            ("both/START", "both/one", "sequence"),
            ("both/one", "both/END", "sequence"),
            ("both/START", "both/two", "sequence"),
            ("both/two", "both/END", "sequence"),
        ],
    ),
    Case(
        "loop",
        lambda: LoopAgent(name="circle", sub_agents=[agent("one"), agent("two")]),
        {
            "circle": "workflow",
            "circle/START": "start",
            "circle/one": "agent",
            "circle/two": "agent",
            "circle/END": "end",
        },
        [
            ("circle/START", "circle/one", "sequence"),
            ("circle/one", "circle/two", "sequence"),
            ("circle/two", "circle/END", "sequence"),
            ("circle/two", "circle/one", "loop"),
        ],
    ),
    Case(
        "a workflow with a fan-out, a join and a tool",
        lambda: Workflow(
            name="flow",
            edges=[
                (
                    "START",
                    first,
                    (agent("one"), FunctionTool(look_up)),
                    JoinNode(name="all"),
                    second,
                )
            ],
        ),
        {
            "flow": "workflow",
            "flow/START": "start",
            "flow/first": "function",
            "flow/one": "agent",
            "flow/look_up": "tool",
            "flow/all": "join",
            "flow/second": "function",
            "flow/END": "end",
        },
        [
            ("flow/START", "flow/first", "sequence"),
            ("flow/first", "flow/one", "sequence"),
            ("flow/first", "flow/look_up", "sequence"),
            ("flow/one", "flow/all", "sequence"),
            ("flow/look_up", "flow/all", "sequence"),
            ("flow/all", "flow/second", "sequence"),
            ("flow/second", "flow/END", "sequence"),
        ],
    ),
    Case(
        "a workflow with routes, one of them back",
        _routes,
        {
            "flow": "workflow",
            "flow/START": "start",
            "flow/router": "function",
            "flow/left": "function",
            "flow/right": "function",
            "flow/END": "end",
        },
        [
            ("flow/START", "flow/router", "sequence"),
            ("flow/router", "flow/left", "route"),
            ("flow/router", "flow/right", "route"),
            ("flow/router", "flow/router", "route"),
            ("flow/left", "flow/END", "sequence"),
            ("flow/right", "flow/END", "sequence"),
        ],
    ),
    Case(
        "a workflow among an agent's tools, and one inside it",
        lambda: agent(
            "root",
            tools=[
                Workflow(
                    name="outer",
                    input_schema=str,
                    edges=[("START", Workflow(name="inner", edges=[("START", first)]))],
                )
            ],
        ),
        {
            "root": "agent",
            "root/outer": "workflow",
            "root/outer/START": "start",
            "root/outer/inner": "workflow",
            "root/outer/END": "end",
            "root/outer/inner/START": "start",
            "root/outer/inner/first": "function",
            "root/outer/inner/END": "end",
        },
        [
            ("root", "root/outer", "delegation"),
            ("root/outer/START", "root/outer/inner", "sequence"),
            ("root/outer/inner", "root/outer/END", "sequence"),
            ("root/outer/inner/START", "root/outer/inner/first", "sequence"),
            ("root/outer/inner/first", "root/outer/inner/END", "sequence"),
        ],
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_shapes(case: Case) -> None:
    """Every node once, with the kind its record has; every edge as ADK declares it."""
    graph = read_graph(case.build())
    root = next(iter(case.kinds))
    found = {each.id: each.kind for each in graph.nodes}
    assert found == {"START": "start", "END": "end", **case.kinds}
    assert edges(graph) == around(root) + case.edges
    assert not graph.truncated


def test_routes_are_told() -> None:
    """With the value for which the workflow goes that way."""
    graph = read_graph(_routes())
    assert [edge.route for edge in graph.edges if edge.kind == "route"] == ["a", "b", "again"]


def test_what_a_node_says_of_itself() -> None:
    """An agent without a model has the one it uses; a long description is cut to a caption."""
    root = agent(
        "root", description="x" * 1000, sub_agents=[LlmAgent(name="heir")], tools=[look_up]
    )
    shown = {each.id: each for each in read_graph(root).nodes}
    assert shown["root/heir"].model == "model"
    assert len(shown["root"].description) == graphs.LONGEST_DESCRIPTION
    assert shown["root/look_up"].description == "Look a word up."
    assert shown["root/look_up"].parent == "root"


def test_a_toolset_is_not_opened() -> None:
    """It may be a server far away: what it offers is known when it runs."""

    class Far(BaseToolset):
        async def get_tools(self, readonly_context: Any = None) -> Any:
            raise AssertionError(f"nobody asked: {readonly_context}")

    graph = read_graph(agent("root", tools=[Far()]))
    assert [(each.name, each.kind) for each in graph.nodes if each.parent] == [("Far", "toolset")]


def test_an_agent_of_the_apps_own_class_runs_its_sub_agents() -> None:
    class Own(BaseAgent):
        """An agent of nobody's but the app's."""

    graph = read_graph(Own(name="root", sub_agents=[agent("one")]))
    assert ("root", "root/one", "delegation") in edges(graph)


def test_a_parallel_worker_is_what_it_runs() -> None:
    worker = node(agent("one", tools=[look_up]), parallel_worker=True)
    root = Workflow(name="flow", edges=[("START", worker)])
    assert {each.id: each.kind for each in read_graph(root).nodes}["flow/one/look_up"] == "tool"
    assert [each.name for each in list_agents(root)] == ["flow", "one"]


def test_what_is_shared_is_drawn_once_and_cycles_end() -> None:
    """Two agents that consult each other, and a third that both consult."""
    shared = agent("shared")
    one, two = agent("one"), agent("two")
    one.tools = [AgentTool(shared), AgentTool(two)]
    two.tools = [AgentTool(shared), AgentTool(one)]
    graph = read_graph(one)
    assert [each.id for each in graph.nodes] == ["START", "one", "END", "one/shared", "one/two"]
    assert edges(graph)[2:] == [
        ("one", "one/shared", "delegation"),
        ("one", "one/two", "delegation"),
        ("one/two", "one/shared", "delegation"),
        ("one/two", "one", "delegation"),
    ]


def test_names_that_clash_have_ids_of_their_own() -> None:
    """A root that is called START, and two tools of one name."""

    def other(word: str) -> str:
        return word

    other.__name__ = "look_up"
    graph = read_graph(agent("START", tools=[look_up, other]))
    names = [each.id for each in graph.nodes]
    assert names == ["START", "START~2", "END", "START~2/look_up", "START~2/look_up~2"]
    assert len({edge.id for edge in graph.edges}) == len(graph.edges)


def test_the_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing that nobody could read says that it is not whole; its edges have both ends."""
    monkeypatch.setattr(graphs, "MAX_NODES", 10)
    graph = read_graph(agent("root", sub_agents=[agent(f"a{n}") for n in range(50)]))
    known = {each.id for each in graph.nodes}
    assert len(known) == 10
    assert graph.truncated
    assert all({edge.source, edge.target} <= known for edge in graph.edges)


def test_the_tour() -> None:
    """Every agent that a run of it names is in its graph, and the JSON is as documented."""
    root = tour_app(delay=0).root_agent
    graph = read_graph(root)
    assert {each.name for each in list_agents(root)} <= {each.name for each in graph.nodes}
    written = json.loads(msgspec.json.encode(graph))
    assert written["nodes"][1] == {
        "id": "tour",
        "name": "tour",
        "kind": "agent",
        "model": "tour-offline",
        "description": "Shows what an ADK run can contain, one prompt at a time.",
    }
    assert {
        "id": "tour->tour/guide",
        "from": "tour",
        "to": "tour/guide",
        "kind": "transfer",
    } in written["edges"]
