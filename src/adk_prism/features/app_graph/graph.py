"""An app as a graph, for Studio and the page, and as ADK's own page and clients are shown it."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
from fastapi import APIRouter, Request, Response
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.cli.utils.graph_serialization import serialize_app_info
from google.adk.runners import Runner
from google.adk.tools import BaseTool
from google.adk.workflow import START, BaseNode, Workflow
from msgspec import Struct

from adk_prism.adk.agents import kind_of, model_of, node_of_tool
from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.runner import worker_node
from adk_prism.adk.redaction import foreign_json
from adk_prism.adk.served_app import ServedApp
from adk_prism.features.app_graph.sources import describe_tool, sources_of
from adk_prism.protocols.adk.routes import describe_app, folder_of
from adk_prism.protocols.adk.sessions import AppInfo
from adk_prism.server.problems import ErrorTexts
from adk_prism.server.request_bodies import AppName, StrictRoute

# ---------------------------------------------------------------------------
# An app as a graph: its agents, tools and workflow nodes, and who may run after whom.
#
# Read from google-adk 2.13's own structures, without running or connecting to anything: sub-agents,
# tools, `AgentTool`, workflows (as root, as node, among an agent's tools), and the older Sequential,
# Parallel and Loop agents. Decides:
# - **ids**: names joined by slashes from the root, `tour/plan_trip/brief`. A node's record carries the
#   same names in its path, each with the number of its run (`tour@1/plan_trip@1/brief@1`); a view
#   takes the numbers off, or where a record has no path goes by the name;
# - an agent or node object that is reached twice is one node with two edges, so cycles end;
# - an agent behind an `AgentTool`, or a workflow among the tools, is itself what is delegated to: there
#   is no second node for the tool around it;
# - transfers are drawn downwards only: those back and across are always possible, and would hide the rest;
# - the app, and each composite in it, has a START and an END.

MAX_NODES = 1000
"""Nodes of one graph. Nobody can read a larger drawing, and a client has to lay it out."""

LONGEST_DESCRIPTION = 300
"""Characters: a caption, not a manual."""

Kind = Literal["start", "end", "agent", "workflow", "function", "join", "tool", "toolset", "node"]

Flow = Literal["", "graph", "sequence", "parallel", "loop"]

EdgeKind = Literal["sequence", "route", "loop", "transfer", "delegation", "tool"]

Route = bool | int | str | list[bool | int | str] | None

_START, _END = "START", "END"


class GraphNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent, tool or step."""

    id: str
    name: str
    kind: Kind
    flow: Flow = ""
    """For a workflow: how its members follow each other."""
    model: str = ""
    description: str = ""
    parent: str = ""
    """Id of the node that it belongs to."""


class GraphEdge(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"source": "from", "target": "to"}
):
    """What may run after, or on behalf of, what."""

    id: str
    source: str
    target: str
    kind: EdgeKind
    route: Route = None
    """The value, or values, for which a workflow goes this way."""


class Graph(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole app."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool = False
    """There was more than `MAX_NODES`."""


def read_graph(root: BaseNode) -> Graph:
    """Return the graph of the app with this root."""
    drawing = _Drawing()
    start = drawing.add(_START, "start")
    begin = drawing.place(root, "")
    end = drawing.add(_END, "end")
    drawing.join(start, begin, "sequence")
    drawing.join(begin, end, "sequence")
    while drawing.waiting:
        node, place = drawing.waiting.popleft()
        _draw_members(drawing, node, place)
    return Graph(nodes=drawing.nodes, edges=drawing.edges, truncated=drawing.truncated)


class _Drawing:
    """A graph while it is drawn. A place is a node's id; empty where there was no room for it."""

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self.waiting: deque[tuple[BaseNode, str]] = deque()
        """Nodes whose members are not drawn yet, with their place."""
        self.truncated = False
        self._places: dict[int, str] = {}
        """By object. ADK's structure keeps the objects alive while it is read."""
        self._taken: set[str] = set()

    def add(self, name: str, kind: Kind, parent: str = "", **about: Any) -> str:
        """Add a node and return its place."""
        if len(self.nodes) >= MAX_NODES:
            self.truncated = True
            return ""
        place = self._unique(f"{parent}/{name}" if parent else name)
        self.nodes.append(GraphNode(id=place, name=name, kind=kind, parent=parent, **about))
        return place

    def place(self, given: BaseNode, parent: str) -> str:
        """Return where an agent or workflow node is; draw it the first time."""
        node = worker_node(given)
        known = self._places.get(id(node))
        if known is not None:
            return known
        place = self.add(
            node.name,
            _kind_of(node),
            parent,
            flow=_flow_of(node),
            model=model_of(node),
            description=node.description[:LONGEST_DESCRIPTION],
        )
        if place:
            self._places[id(node)] = place
            self.waiting.append((node, place))
        return place

    def join(self, source: str, target: str, kind: EdgeKind, route: Route = None) -> None:
        """Add an edge, if both ends are there."""
        if source and target:
            name = self._unique(f"{source}->{target}")
            self.edges.append(
                GraphEdge(id=name, source=source, target=target, kind=kind, route=route)
            )

    def _unique(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}~{count}"
        self._taken.add(name)
        return name


# ------------------------------------------------------------------------------ kinds

_FLOWS: Sequence[tuple[type[BaseNode], Flow]] = (
    (Workflow, "graph"),
    (SequentialAgent, "sequence"),
    (ParallelAgent, "parallel"),
    (LoopAgent, "loop"),
)


def _flow_of(node: BaseNode) -> Flow:
    return next((flow for of_type, flow in _FLOWS if isinstance(node, of_type)), "")


def _kind_of(node: BaseNode) -> Kind:
    # ADK's node around a tool has no public class; it is recognised by its attribute.
    return "tool" if isinstance(getattr(node, "tool", None), BaseTool) else kind_of(node)


# ------------------------------------------------------------------------------ members


def _draw_members(drawing: _Drawing, node: BaseNode, place: str) -> None:
    for of_type, draw in _MEMBERS:
        if isinstance(node, of_type):
            draw(drawing, node, place)
            return


def _draw_workflow(drawing: _Drawing, node: Workflow, place: str) -> None:
    graph = node.graph
    if graph is None:
        return
    start = drawing.add(_START, "start", place)
    # START is one object for all workflows, so it is recognised by its name.
    at = {
        id(member): start if member.name == START.name else drawing.place(member, place)
        for member in graph.nodes
    }
    for edge in graph.edges:
        kind: EdgeKind = "sequence" if edge.route is None else "route"
        drawing.join(at[id(edge.from_node)], at[id(edge.to_node)], kind, edge.route)
    end = drawing.add(_END, "end", place)
    leaving = {id(edge.from_node) for edge in graph.edges}
    for member in graph.nodes:
        if id(member) not in leaving:
            drawing.join(at[id(member)], end, "sequence")


def _draw_sequence(drawing: _Drawing, node: BaseAgent, place: str) -> None:
    start = drawing.add(_START, "start", place)
    members = [drawing.place(member, place) for member in node.sub_agents]
    steps = [start, *members, drawing.add(_END, "end", place)]
    for before, after in pairwise(steps):
        drawing.join(before, after, "sequence")
    if isinstance(node, LoopAgent) and members:
        drawing.join(members[-1], members[0], "loop")


def _draw_parallel(drawing: _Drawing, node: BaseAgent, place: str) -> None:
    start = drawing.add(_START, "start", place)
    members = [drawing.place(member, place) for member in node.sub_agents]
    end = drawing.add(_END, "end", place)
    for member in members:
        drawing.join(start, member, "sequence")
        drawing.join(member, end, "sequence")


def _draw_llm_agent(drawing: _Drawing, node: LlmAgent, place: str) -> None:
    helpers = {id(agent) for agent in node.sub_agents}
    for tool in node.tools:
        target = node_of_tool(tool)
        if target is None:
            _draw_tool(drawing, tool, place)
        elif id(target) not in helpers:  # ADK puts delegated sub-agents among the tools, too
            drawing.join(place, drawing.place(target, place), "delegation")
    for agent in node.sub_agents:
        kind: EdgeKind = "delegation" if _is_delegated(agent) else "transfer"
        drawing.join(place, drawing.place(agent, place), kind)


def _draw_agent(drawing: _Drawing, node: BaseAgent, place: str) -> None:
    """Draw an agent of the app's own class: it runs its sub-agents as it likes."""
    for agent in node.sub_agents:
        drawing.join(place, drawing.place(agent, place), "delegation")


_MEMBERS: Sequence[tuple[type[BaseNode], Callable[[_Drawing, Any, str], None]]] = (
    (Workflow, _draw_workflow),
    (SequentialAgent, _draw_sequence),
    (LoopAgent, _draw_sequence),
    (ParallelAgent, _draw_parallel),
    (LlmAgent, _draw_llm_agent),
    (BaseAgent, _draw_agent),
)


def _is_delegated(agent: BaseAgent) -> bool:
    """Tell a sub-agent that is called like a tool from one that takes the conversation over."""
    return isinstance(agent, LlmAgent) and agent.mode in ("single_turn", "task")


def _draw_tool(drawing: _Drawing, tool: object, place: str) -> None:
    name, kind, about = describe_tool(tool)
    drawing.join(
        place,
        drawing.add(name, kind, place, description=about.strip()[:LONGEST_DESCRIPTION]),
        "tool",
    )


# ---------------------------------------------------------------------------
# Apps whose code is elsewhere.


@runtime_checkable
class DrawsItself(Protocol):
    """An app whose code is not here, and that says itself what it consists of. Raises `NotSupported`."""

    def graph(self) -> Graph:
        """Return its graph."""

    def drawing(self) -> dict[str, Any]:
        """Return it as ADK's page draws it."""


def graph_of(app: ServedApp) -> Graph:
    """Return the agents, tools and workflow nodes of an app. Raise `NotSupported`."""
    if isinstance(app, DrawsItself):
        return app.graph()
    assert app.root is not None, "its code is here"
    return read_graph(app.root)


# ---------------------------------------------------------------------------
# An app as ADK's page draws it: agents, nodes and tools, with the app's README.
#
# Follows google-adk 2.13 `cli/dev_server.py` (`build_graph`), whose serialiser is used. Differences:
# plugins of this server are left out, values that are not JSON are shown by their type, and
# credentials are redacted.

LONGEST_README = 256 * 1024
"""Bytes of a README that are sent: more is a book."""

_OURS = "adk_prism"
"""How the names of this server's own plugins begin."""


def describe_graph(runner: Runner, folder: Path | None) -> bytes:
    """Return what an app consists of, as JSON. Reads the app's README; call it in a thread."""
    about = serialize_app_info(runner.app, _readme(folder))
    plugins = [each for each in about.pop("plugins", ()) if not each["name"].startswith(_OURS)]
    if plugins:
        about["plugins"] = plugins
    return foreign_json(json.dumps(about, default=_type_of, allow_nan=False).encode())


def _type_of(value: object) -> str:
    return f"<{type(value).__name__}>"


def _readme(folder: Path | None) -> str | None:
    if folder is None:
        return None
    try:
        with (folder / "README.md").open("rb") as file:
            return file.read(LONGEST_README).decode(errors="replace")
    except OSError:
        return None


async def _described(app: ServedApp, folder: Path | None) -> bytes:
    if isinstance(app, DrawsItself):
        return msgspec.json.encode(app.drawing())
    return await asyncio.to_thread(describe_graph, app.runner("graph"), folder)


# ---------------------------------------------------------------------------


def routes(apps: Apps, errors: ErrorTexts) -> list[APIRouter]:
    """Return the routers of graphs, Studio's and ADK's, and of what they are drawn from."""
    studio = APIRouter(prefix="/api/studio/{app_name}", tags=["studio"])
    router = APIRouter(route_class=StrictRoute, tags=["ADK: server"])

    @studio.get("/graph", response_class=Response)
    async def graph(app_name: AppName) -> Response:
        """Return the app's agents, tools and workflow nodes, and the edges between them."""
        found = graph_of(await apps.open(app_name))
        return Response(msgspec.json.encode(found), media_type="application/json")

    @router.get("/apps/{app_name}/app-info", response_model_exclude_none=True)
    async def app_info(app_name: AppName) -> AppInfo:
        """Return an app's agents with their instructions and tools."""
        app = await apps.open(app_name)
        agents = await app.details()
        described = describe_app(app_name, app)
        return described.model_copy(update={"agents": agents, "language": "python"})

    @router.get("/dev/apps/{app_name}/build_graph")
    async def build_graph(app_name: AppName) -> Response:
        """Return an app's agents, nodes and tools, as ADK's page draws them."""
        app, found = await apps.open(app_name), apps.find(app_name)
        described = await _described(app, found.path if found is not None else None)
        return Response(described, media_type="application/json")

    @studio.get("/sources")
    async def sources(request: Request, app_name: AppName) -> dict[str, dict[str, Any]]:
        """Return the file and line of each agent (`source`) and of its `tools`, by name.

        Empty for who does not see full error texts (`--errors`), and for an app whose code is elsewhere.
        """
        app = await apps.open(app_name)
        if app.root is None or not errors.shows(request.scope):
            return {}
        return await asyncio.to_thread(sources_of, app.root, folder_of(app.root))

    return [studio, router]
