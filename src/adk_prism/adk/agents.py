"""The agents of an app, read from its root.

Knows how google-adk nests agents: sub-agents, workflow nodes, `AgentTool`, and the tool and the worker
that ADK itself puts around a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.tools import AgentTool, BaseTool
from google.adk.workflow import BaseNode, FunctionNode, JoinNode, Workflow

from adk_prism.adk.internals.runner import worker_node
from adk_prism.log.entry import Agent, NodeKind

RootKind = Literal["llm", "workflow", "legacy"]
"""Which of ADK's runtimes runs a root: they differ in errors, resume and rewind."""


def root_kind(root: BaseNode) -> RootKind:
    """Return how `Runner.run_async` will run this root."""
    if isinstance(root, LlmAgent):
        return "llm"
    return "legacy" if isinstance(root, BaseAgent) else "workflow"


def list_agents(root: BaseNode) -> list[Agent]:
    """Return the root and every agent below it, in the order in which they are declared."""
    return [_described(node) for node in walk_agents(root)]


def _described(node: BaseNode) -> Agent:
    tools = len(node.tools) if isinstance(node, LlmAgent) else 0
    return Agent(name=node.name, model=model_of(node), tools=tools)


def walk_agents(root: BaseNode) -> Iterator[BaseNode]:
    """Yield the root and every agent and workflow below it, each object once."""
    seen: set[int] = set()
    waiting: list[BaseNode] = [root]
    while waiting:
        node = worker_node(waiting.pop())
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, BaseAgent | Workflow):
            yield node
        waiting.extend(reversed(children_of(node)))


def model_of(node: BaseNode) -> str:
    """Return the name of the model that an agent asks; empty for a node that asks none.

    As `LlmAgent.canonical_model` resolves it: its own, else that of its nearest ancestor that has one, else
    ADK's default. Only of that is a model made. An agent in a tool or a workflow has no ancestor.
    """
    if not isinstance(node, LlmAgent):
        return ""
    agent: BaseAgent | None = node
    while agent is not None:
        if isinstance(agent, LlmAgent) and agent.model:
            return agent.model.model if isinstance(agent.model, BaseLlm) else agent.model
        agent = agent.parent_agent
    try:
        return node.canonical_model.model
    except (ValueError, ImportError):  # an unknown model name, or its package is not installed
        return ""


def children_of(node: BaseNode) -> list[BaseNode]:
    """Return the nodes that a node may run: of its workflow, its sub-agents, those among its tools."""
    children: list[BaseNode] = []
    if isinstance(node, Workflow) and node.graph is not None:
        children.extend(node.graph.nodes)
    if isinstance(node, BaseAgent):
        children.extend(node.sub_agents)
    if isinstance(node, LlmAgent):
        children.extend(filter(None, map(node_of_tool, node.tools)))
    return children


def node_of_tool(tool: object) -> BaseNode | None:
    """Return the agent, workflow or other node that a tool runs; None for a tool that runs none."""
    if isinstance(tool, AgentTool):
        return tool.agent
    if isinstance(tool, BaseNode):
        return tool
    node = getattr(tool, "node", None) if isinstance(tool, BaseTool) else None
    return node if isinstance(node, BaseNode) else None


_KINDS: Sequence[tuple[type[BaseNode], NodeKind]] = (
    (Workflow, "workflow"),
    (SequentialAgent, "workflow"),
    (ParallelAgent, "workflow"),
    (LoopAgent, "workflow"),
    (BaseAgent, "agent"),
    (FunctionNode, "function"),
    (JoinNode, "join"),
)


def kind_of(node: BaseNode) -> NodeKind:
    """Return a node's kind. The agents that only run other agents are workflows."""
    return next((kind for of_type, kind in _KINDS if isinstance(node, of_type)), "node")
