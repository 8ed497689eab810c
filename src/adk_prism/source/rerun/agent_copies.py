"""A copy of an app's agents in which some are changed; the app itself, which others run, stays as it is.

Agents refer to each other as sub-agents, as nodes of a workflow, in tools, and in fields of an app's own
classes; one agent can be in several of these places. Each object is copied once, so that all places in the
copy mean the same agent. Toolsets, models and callbacks are shared with the original.

pydantic keeps a node's private attributes apart; the worker that ADK puts around a node has the node there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import BaseNode, Edge, Workflow

from adk_prism.errors import Unprocessable

_KEPT = ("parent_agent", "edges", "graph")
"""Fields that are not walked: a copy gets its parent from ADK, and a workflow runs the graph that was made of
its edges."""

ChangeOf = Callable[[LlmAgent], Mapping[str, Any]]
"""Returns the fields of an agent that have other values in the copy."""


def copy_agents(root: BaseNode, change: ChangeOf) -> BaseNode:
    """Return a copy of a root and all agents below it. Raise `Unprocessable` for agents in a circle."""
    return _Copies(change).node(root)


class _Copies:
    def __init__(self, change: ChangeOf) -> None:
        self._change = change
        self._done: dict[int, BaseNode] = {}
        """By the identity of the original."""
        self._begun: set[int] = set()

    def node(self, node: BaseNode) -> BaseNode:
        if (known := self._done.get(id(node))) is not None:
            return known
        if id(node) in self._begun:
            raise Unprocessable(
                f"The agent {node.name!r} contains itself; such an app cannot be run with changes."
            )
        self._begun.add(id(node))
        update = self._fields(node)
        if isinstance(node, LlmAgent):
            update |= self._change(node)
        made: BaseNode = (
            node.clone(update) if isinstance(node, BaseAgent) else node.model_copy(update=update)
        )
        private = made.__pydantic_private__ or {}
        private.update({name: self._value(value) for name, value in private.items()})
        self._done[id(node)] = made
        return made

    def _fields(self, node: BaseNode) -> dict[str, Any]:
        """Return the fields that hold agents, with copies of those."""
        values = {n: getattr(node, n) for n in type(node).model_fields if n not in _KEPT}
        copies = {name: self._value(value) for name, value in values.items()}
        changed = {n: value for n, value in copies.items() if value is not values[n]}
        if isinstance(node, Workflow) and (graph := node.graph) is not None:
            edges = [self._edge(edge) for edge in graph.edges]
            nodes = [self.node(each) for each in graph.nodes]
            changed["graph"] = graph.model_copy(update={"edges": edges, "nodes": nodes})
        # ADK would copy the sub-agents of an agent by itself, and each of them again.
        return changed | ({"sub_agents": copies["sub_agents"]} if "sub_agents" in copies else {})

    def _value(self, value: Any) -> Any:
        """Return a value with copies of the agents in it; the value itself if there are none."""
        made: Any = value
        match value:
            case BaseNode():
                return self.node(value)
            case BaseTool():
                return self._tool(value)
            case list():
                made = [self._value(item) for item in value]
            case dict():
                made = {key: self._value(item) for key, item in value.items()}
                return made if any(made[k] is not v for k, v in value.items()) else value
            case _:
                return value  # holds no agent that ADK knows of
        return made if any(a is not b for a, b in zip(made, value, strict=True)) else value

    def _edge(self, edge: Edge) -> Edge:
        ends = {"from_node": self.node(edge.from_node), "to_node": self.node(edge.to_node)}
        return edge.model_copy(update=ends)

    def _tool(self, tool: BaseTool) -> BaseTool:
        if isinstance(tool, AgentTool):
            made = copy(tool)
            made.agent = self.node(tool.agent)  # type: ignore[assignment] # a copy has the same class
            # An agent without the plugins would call its tools unseen.
            made.include_plugins = True
            return made
        inner = getattr(tool, "node", None)
        if not isinstance(inner, BaseNode):
            return tool
        wrapper: Any = copy(tool)
        wrapper.node = self.node(inner)
        return wrapper  # type: ignore[no-any-return] # a copy of the tool
