"""Which apps a page offers to talk to."""

from __future__ import annotations

import ast
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import google.adk
import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.workflow import BaseNode, Workflow

from adk_prism.adk.internals.runner import refuses, supports_live
from adk_prism.models import ScriptedModel, WritingModel, say


class Written(BaseLlm):
    """A model of somebody's own, for texts."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del llm_request, stream
        yield LlmResponse()


class Spoken(Written):
    """The same, with a voice."""

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncGenerator[Any, None]:
        del llm_request
        yield None


class OwnAgent(BaseAgent):
    """An agent that brings its own live runs."""

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        del ctx
        yield Event(author=self.name)


class Elsewhere(BaseAgent):
    """An agent that runs elsewhere and says that it cannot be talked to."""

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Refuse."""
        del ctx
        raise NotImplementedError(f"{type(self)} cannot run live.")
        yield Event(author=self.name)


class OwnElsewhere(Elsewhere):
    """One that inherits that."""


def agent(model: str | BaseLlm) -> LlmAgent:
    return LlmAgent(name="one", model=model)


def scripted() -> LlmAgent:
    return agent(ScriptedModel(script=lambda _: say("hello")))


@dataclass(frozen=True)
class Case:
    id: str
    root: BaseNode
    talks: bool


CASES = [
    Case("the offline model", scripted(), True),
    Case("the offline model, for texts", agent(WritingModel(script=lambda _: say("hello"))), False),
    Case("a model of one's own, for texts", agent(Written(model="w")), False),
    Case("a model of one's own, live", agent(Spoken(model="s")), True),
    Case("an agent elsewhere", Elsewhere(name="one"), False),
    Case("an agent elsewhere, below another", OwnElsewhere(name="one"), False),
    Case("ADK's default model", LlmAgent(name="one"), True),
    Case("Gemini for texts", agent("gemini-2.5-flash"), False),
    Case("Gemini live", agent("gemini-live-2.5-flash-preview"), True),
    Case("Gemini live, by date", agent("gemini-2.0-flash-live-001"), True),
    Case("Gemini with a voice", agent("gemini-2.5-flash-native-audio-preview-12-2025"), True),
    Case(
        "Gemini live, by its path",
        agent("projects/p/locations/l/publishers/google/models/gemini-live-2.5-flash"),
        True,
    ),
    Case("a word that only holds the letters", agent("gemini-2.5-delivery"), False),
    Case("ADK's own choice", LlmAgent(name="one"), True),
    Case("a name that nobody knows", agent("nobody-1"), False),
    Case("in sequence", SequentialAgent(name="all", sub_agents=[scripted()]), True),
    Case(
        "in sequence with one that is not",
        SequentialAgent(name="all", sub_agents=[scripted(), agent(Written(model="w"))]),
        False,
    ),
    Case("side by side", ParallelAgent(name="all", sub_agents=[scripted()]), False),
    Case("in a loop", LoopAgent(name="all", sub_agents=[scripted()]), False),
    Case("an agent without live runs", BaseAgent(name="one"), False),
    Case("an agent with its own", OwnAgent(name="one"), True),
    Case("a workflow", Workflow(name="all", edges=[("START", scripted())]), False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_can_be_talked_to(case: Case) -> None:
    """An agent whose model opens live connections, as far as that can be known without one."""
    assert supports_live(case.root) is case.talks


def test_an_agent_of_another_server_is_not_offered() -> None:
    """ADK's own class; read from its source, since its package (a2a) need not be installed."""
    file = Path(google.adk.__file__).parent / "a2a" / "agent" / "_remote_a2a_agent.py"
    text = file.read_text()
    (found,) = [
        method
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.AsyncFunctionDef) and method.name == "_run_live_impl"
    ]
    module = compile(ast.Module([found], []), file, "exec")
    (code,) = [each for each in module.co_consts if isinstance(each, CodeType)]
    assert refuses(code)
