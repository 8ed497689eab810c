"""The agents of an app, read from its root: for a run's first record and for lists.

Knows the shapes in which google-adk 2.13 nests agents: sub-agents, workflow nodes and `AgentTool`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import BaseNode, Workflow

from adk_prism.runlog.entry import Agent

RootKind = Literal["llm", "workflow", "legacy"]
"""Which of ADK's runtimes runs a root: they differ in errors, resume and rewind."""


def root_kind(root: BaseNode) -> RootKind:
    """Tell how `Runner.run_async` will run this root."""
    if isinstance(root, LlmAgent):
        return "llm"
    return "legacy" if isinstance(root, BaseAgent) else "workflow"


def list_agents(root: BaseNode) -> list[Agent]:
    """Return the root and every agent below it, in the order in which they are declared."""
    return [_described(node, model) for node, model in _walk(root)]


def _described(node: BaseNode, model: str) -> Agent:
    tools = len(node.tools) if isinstance(node, LlmAgent) else 0
    return Agent(name=node.name, model=model, tools=tools)


def _walk(root: BaseNode) -> Iterator[tuple[BaseNode, str]]:
    """Yield agents and workflows with the model each one uses; each object once."""
    seen: set[int] = set()
    waiting: list[tuple[BaseNode, str]] = [(root, "")]
    while waiting:
        node, inherited = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        model = _model_of(node, inherited)
        if isinstance(node, BaseAgent | Workflow):
            yield node, model if isinstance(node, LlmAgent) else ""
        waiting.extend((child, model) for child in reversed(_children(node)))


def _model_of(node: BaseNode, inherited: str) -> str:
    """An agent without a model uses its nearest ancestor's."""
    if not isinstance(node, LlmAgent):
        return inherited
    model = node.model
    return (model.model if isinstance(model, BaseLlm) else model) or inherited


def _children(node: BaseNode) -> list[BaseNode]:
    children: list[BaseNode] = []
    if isinstance(node, Workflow) and node.graph is not None:
        children.extend(node.graph.nodes)
    if isinstance(node, BaseAgent):
        children.extend(node.sub_agents)
    if isinstance(node, LlmAgent):
        children.extend(tool.agent for tool in node.tools if isinstance(tool, AgentTool))
    return children
