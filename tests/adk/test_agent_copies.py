"""A copy of an app's agents: every place in it means the copies, and the app stays as it was."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.tools import AgentTool
from google.adk.workflow import START, BaseNode, Workflow, node
from tests.adk.scripted import Scripted

from adk_prism.adk.agents import node_of_tool, walk_agents
from adk_prism.errors import Unprocessable
from adk_prism.features.rerun.changed_app import copy_agents

OTHER = Scripted(model="other")


class Editor(BaseAgent):
    """An agent of an app's own class, which names its agents in fields."""

    writer: LlmAgent
    readers: dict[str, LlmAgent]

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async for event in self.writer.run_async(ctx):
            yield event


def llm(name: str, **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model=Scripted(), **more)


def change(agent: BaseAgent) -> dict[str, Any]:
    return {"model": OTHER, "instruction": "Changed."} if isinstance(agent, LlmAgent) else {}


def _editor() -> BaseNode:
    writer, reader = llm("writer"), llm("reader")
    return Editor(
        name="editor", writer=writer, readers={"one": reader}, sub_agents=[writer, reader]
    )


def _turns() -> BaseNode:
    return llm("root", sub_agents=[llm("once", mode="single_turn"), llm("task", mode="task")])


def _tools() -> BaseNode:
    shared = llm("shared")
    return llm(
        "root", tools=[AgentTool(shared), AgentTool(llm("inner", tools=[AgentTool(shared)]))]
    )


def _older() -> BaseNode:
    both = ParallelAgent(name="both", sub_agents=[llm("left"), llm("right")])
    return LoopAgent(name="loop", max_iterations=2, sub_agents=[both, llm("judge")])


def _workflow() -> BaseNode:
    each = node(llm("each"), parallel_worker=True)
    inner = Workflow(name="inner", edges=[(START, llm("deep"))])
    return Workflow(name="flow", edges=[(START, llm("first"), each), (START, inner)])


APPS = {f.__name__.strip("_"): f for f in (_editor, _turns, _tools, _older, _workflow)}


@pytest.mark.parametrize("name", APPS)
def test_every_agent_is_copied_and_changed(name: str) -> None:
    """Nothing of the original is reached from the copy, and nothing of it has changed."""
    root = APPS[name]()
    before = list(walk_agents(root))
    copy = copy_agents(root, change)
    after = list(walk_agents(copy))
    assert [each.name for each in after] == [each.name for each in before]
    assert not {id(each) for each in after} & {id(each) for each in before}
    for each in after:
        if isinstance(each, LlmAgent):
            assert (each.model, each.instruction) == (OTHER, "Changed.")
        if isinstance(each, BaseAgent):
            assert all(child.parent_agent is each for child in each.sub_agents)
    for each in before:
        if isinstance(each, LlmAgent):
            assert (each.model is OTHER, each.instruction) == (False, "")
        if isinstance(each, BaseAgent):
            assert all(child.parent_agent is each for child in each.sub_agents)


def test_all_places_mean_the_same_copy() -> None:
    """Fields of an app's own class, sub-agents, and the tools that ADK makes of them."""
    editor = copy_agents(_editor(), change)
    assert isinstance(editor, Editor)
    assert editor.sub_agents == [editor.writer, editor.readers["one"]]
    assert editor.sub_agents[0] is editor.writer
    turns = copy_agents(_turns(), change)
    assert isinstance(turns, LlmAgent)
    assert [node_of_tool(tool) for tool in turns.tools] == turns.sub_agents


def test_agents_in_a_circle_are_refused() -> None:
    """Such an app runs, and cannot be copied piece by piece."""
    root = llm("root")
    root.tools.append(AgentTool(llm("inner", tools=[AgentTool(root)])))
    with pytest.raises(Unprocessable, match="contains itself"):
        copy_agents(root, change)
