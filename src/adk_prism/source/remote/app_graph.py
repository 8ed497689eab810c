"""A remote app as a graph, as far as its server describes it: agents, whom they transfer to, and their tools.

What servers tell has neither models nor workflows, and of tools the names; so a graph may lack nodes.
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


def drawing_of(app: str, info: AppInfo) -> dict[str, Any]:
    """Return the app in the form of `build_graph`: each agent with its tools and sub-agents in it."""
    left = MAX_NODES

    def drawn(name: str, above: tuple[str, ...]) -> dict[str, Any]:
        nonlocal left
        left -= 1
        agent = info.agents.get(name, AgentInfo(name=name))
        about: dict[str, Any] = {"name": name, "type": "agent"}
        if agent.description:
            about["description"] = agent.description[:LONGEST_DESCRIPTION]
        if tools := dict.fromkeys(_tools(agent.tools)):
            about["tools"] = [{"name": tool, "type": "tool"} for tool in tools]
        members = [
            drawn(member, (*above, name))
            for member in dict.fromkeys(agent.sub_agents)
            if member not in above and member != name and left > 0
        ]
        return about | ({"sub_agents": members} if members else {})

    return {"name": app, "root_agent": drawn(info.root_agent_name, ())}


def _edge(source: str, target: str, kind: EdgeKind) -> GraphEdge:
    return GraphEdge(id=f"{source}->{target}", source=source, target=target, kind=kind)


def _tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        declared = tool.get("function_declarations") or tool.get("functionDeclarations")
        for each in declared if isinstance(declared, list) else ():
            name = each.get("name") if isinstance(each, dict) else None
            if isinstance(name, str) and name:
                yield name
