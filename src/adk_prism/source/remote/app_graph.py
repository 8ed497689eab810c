"""A remote app as a graph, as far as its server describes it: agents, whom they transfer to, and their tools.

`app-info` has neither models nor workflows, and of tools the names; so a graph from it may lack nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from adk_prism.source.graph import (
    LONGEST_DESCRIPTION,
    MAX_NODES,
    EdgeKind,
    Graph,
    GraphEdge,
    GraphNode,
)
from adk_prism.source.remote.connection import AgentInfo, AppInfo


def graph_of(info: AppInfo) -> Graph:
    """Return the graph of an app whose server described it."""
    root = info.root_agent_name
    nodes = {"START": GraphNode(id="START", name="START", kind="start")}
    edges = [_edge("START", root, "sequence"), _edge(root, "END", "sequence")]
    waiting = deque([(root, root, "")])
    while waiting and len(nodes) < MAX_NODES:
        name, place, parent = waiting.popleft()
        agent = info.agents.get(name, AgentInfo(name=name))
        about = agent.description[:LONGEST_DESCRIPTION]
        nodes[place] = GraphNode(
            id=place, name=name, kind="agent", description=about, parent=parent
        )
        for tool in dict.fromkeys(_tools(agent.tools)):
            below = f"{place}/{tool}"
            nodes[below] = GraphNode(id=below, name=tool, kind="tool", parent=place)
            edges.append(_edge(place, below, "tool"))
        for member in dict.fromkeys(agent.sub_agents):
            if member in place.split("/"):
                continue  # An agent cannot be below itself; a description can say so.
            edges.append(_edge(place, f"{place}/{member}", "transfer"))
            waiting.append((member, f"{place}/{member}", place))
    nodes["END"] = GraphNode(id="END", name="END", kind="end")
    drawn = [each for each in edges if each.source in nodes and each.target in nodes]
    return Graph(nodes=list(nodes.values()), edges=drawn, truncated=bool(waiting))


def _edge(source: str, target: str, kind: EdgeKind) -> GraphEdge:
    return GraphEdge(id=f"{source}->{target}", source=source, target=target, kind=kind)


def _tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        declared = tool.get("function_declarations") or tool.get("functionDeclarations")
        for each in declared if isinstance(declared, list) else ():
            name = each.get("name") if isinstance(each, dict) else None
            if isinstance(name, str) and name:
                yield name
