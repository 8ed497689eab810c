"""Agents that misbehave: every place where a developer's code runs, and everything it can do there.

A place is a function from a deed to a root. The deed is an async function (or, of `sync_tool` and its kin, a
plain one) that is called once per run, in that place.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import BaseTool, FunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import BaseNode, Workflow
from google.genai import types
from pydantic import PrivateAttr
from tests.adk.scripted import Scripted, call

Do = Callable[[], Any]
"""Does it; may return something. Called in a coroutine, or in a thread by a synchronous tool."""


class Panic(BaseException):
    """Like what bindings to other languages raise for a panic there."""


# --------------------------------------------------------------------------- what is raised


def exits() -> None:
    raise SystemExit(3)


def interrupts() -> None:
    raise KeyboardInterrupt


def panics() -> None:
    raise Panic("at the disco")


def closes() -> None:
    raise GeneratorExit


def groups() -> None:
    raise BaseExceptionGroup("several", [ValueError("one"), KeyboardInterrupt()])


def groups_exits() -> None:
    raise BaseExceptionGroup("several", [BaseExceptionGroup("inner", [SystemExit(1)])])


def cancels() -> None:
    raise asyncio.CancelledError


def stops_iterating() -> None:
    raise StopIteration(1)


def stops_iterating_async() -> None:
    raise StopAsyncIteration


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)

    __repr__ = __str__


def raises_unspeakable() -> None:
    raise _Unspeakable


RAISED: dict[str, tuple[Do, str]] = {
    "SystemExit": (exits, "SystemExit"),
    "KeyboardInterrupt": (interrupts, "KeyboardInterrupt"),
    "BaseException": (panics, "Panic"),
    "GeneratorExit": (closes, "GeneratorExit"),
    "group": (groups, "ValueError"),
    "nested group": (groups_exits, "SystemExit"),
    "CancelledError": (cancels, "CancelledError"),
    "StopIteration": (stops_iterating, "RuntimeError"),
    "StopAsyncIteration": (stops_iterating_async, ""),
    "unspeakable": (raises_unspeakable, ""),
}
"""What is raised, and the code of the run that failed for it; empty: any."""

TOLERATED = {("toolset", name) for name in ("StopIteration", "StopAsyncIteration")}
"""Places where ADK logs an ordinary exception, and goes on."""


# --------------------------------------------------------------------------- places

CALL = call("work", "c1")


def _agent(*turns: Any, name: str = "agent", **more: Any) -> LlmAgent:
    model = Scripted.saying(*(turns or (CALL, "Done.")))
    return LlmAgent(name=name, model=model, **more)


def sync_tool(do: Do) -> BaseNode:
    def work() -> Any:
        """Work."""
        return do()

    return _agent(tools=[work])


def async_tool(do: Do) -> BaseNode:
    return _agent(tools=[_working(do)])


def _working(do: Do) -> Callable[[], Awaitable[Any]]:
    async def work() -> Any:
        """Work."""
        await asyncio.sleep(0)
        return await _awaited(do)

    return work


async def _awaited(do: Do) -> Any:
    done = do()
    return await done if asyncio.iscoroutine(done) and do.__name__ in _ASYNC_DEEDS else done


def parallel_tools(do: Do) -> BaseNode:
    async def other() -> dict[str, bool]:
        """Do something else."""
        await asyncio.sleep(0.01)
        return {"ok": True}

    turns = [CALL, call("other", "c2")], "Done."
    return _agent(*turns, tools=[_working(do), other])


def late_tool(do: Do) -> BaseNode:
    """A tool class of one's own."""

    class Work(BaseTool):
        async def run_async(self, **_: Any) -> Any:
            return await _awaited(do)

        def _get_declaration(self) -> types.FunctionDeclaration:
            return types.FunctionDeclaration(name="work", description="Work.")

    return _agent(tools=[Work(name="work", description="Work.")])


def confirmation(do: Do) -> BaseNode:
    def work() -> dict[str, bool]:
        """Work."""
        return {"ok": True}

    async def asks() -> bool:
        await _awaited(do)
        return False

    return _agent(tools=[FunctionTool(work, require_confirmation=asks)])


def toolset(do: Do) -> BaseNode:
    class Tools(BaseToolset):
        async def get_tools(self, *_: Any) -> list[BaseTool]:
            await _awaited(do)
            return []

        async def close(self) -> None:
            pass

    return _agent("Done.", tools=[Tools()])


def callback(name: str) -> Callable[[Do], BaseNode]:
    def place(do: Do) -> BaseNode:
        def work() -> dict[str, bool]:
            """Work."""
            return {"ok": True}

        async def called(*_: Any, **__: Any) -> None:
            await _awaited(do)

        return _agent(tools=[work], **{name: called})

    place.__name__ = name
    return place


def sync_callback(do: Do) -> BaseNode:
    def called(*_: Any, **__: Any) -> None:
        do()

    return _agent("Done.", before_model_callback=called)


def model(do: Do) -> BaseNode:
    class Model(Scripted):
        async def generate_content_async(
            self, *_: Any, **__: Any
        ) -> AsyncGenerator[LlmResponse, None]:
            yield LlmResponse(content=types.ModelContent("Once "), partial=True)
            await _awaited(do)
            yield LlmResponse(content=types.ModelContent("Once upon a time."))

    return LlmAgent(name="agent", model=Model())


def instruction(do: Do) -> BaseNode:
    async def instruct(_: Any) -> str:
        await _awaited(do)
        return "Be brief."

    return _agent("Done.", instruction=instruct)


class _Custom(BaseAgent):
    _do: Do = PrivateAttr()

    @classmethod
    def doing(cls, do: Do, name: str = "custom") -> _Custom:
        agent = cls(name=name)
        agent._do = do
        return agent

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield self._said(ctx, "Once")
        await _awaited(self._do)
        yield self._said(ctx, "again")

    def _said(self, ctx: InvocationContext, text: str) -> Event:
        return Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            branch=ctx.branch,
            content=types.ModelContent(text),
        )


def custom_agent(do: Do) -> BaseNode:
    return _Custom.doing(do)


def sub_agent(do: Do) -> BaseNode:
    return SequentialAgent(name="steps", sub_agents=[_Custom.doing(do)])


def looped(do: Do) -> BaseNode:
    return LoopAgent(name="loop", sub_agents=[_Custom.doing(do)], max_iterations=2)


def agent_tool(do: Do) -> BaseNode:
    inner = _agent(name="inner", description="Inner.", tools=[_working(do)])
    return _agent(call("inner", "c0", request="x"), "Done.", tools=[AgentTool(inner)])


def agent_tool_model(do: Do) -> BaseNode:
    inner = model(do)
    assert isinstance(inner, LlmAgent)
    return _agent(call("agent", "c0", request="x"), "Done.", name="root", tools=[AgentTool(inner)])


def parallel_branch(do: Do) -> BaseNode:
    async def slow() -> dict[str, bool]:
        """Take a moment."""
        await asyncio.sleep(0.05)
        return {"ok": True}

    other = _agent(call("slow", "c9"), "Fine.", name="other", tools=[slow])
    return ParallelAgent(name="both", sub_agents=[_Custom.doing(do), other])


def parallel_tool(do: Do) -> BaseNode:
    one, two = _agent(name="one", tools=[_working(do)]), _agent("Fine.", name="two")
    return ParallelAgent(name="both", sub_agents=[one, two])


def workflow_node(do: Do) -> BaseNode:
    async def work(node_input: Any) -> Any:
        return await _awaited(do)

    return Workflow(name="flow", edges=[("START", work)])


def sync_workflow_node(do: Do) -> BaseNode:
    def work(node_input: Any) -> Any:
        return do()

    return Workflow(name="flow", edges=[("START", work)])


def workflow_agent(do: Do) -> BaseNode:
    return Workflow(name="flow", edges=[("START", _agent(tools=[_working(do)]))])


def parallel_nodes(do: Do) -> BaseNode:
    async def work(node_input: Any) -> Any:
        return await _awaited(do)

    async def other(node_input: Any) -> str:
        await asyncio.sleep(0.02)
        return "other"

    return Workflow(name="flow", edges=[("START", (work, other))])


PLACES: dict[str, Callable[[Do], BaseNode]] = {
    place.__name__: place
    for place in (
        sync_tool,
        async_tool,
        parallel_tools,
        late_tool,
        confirmation,
        toolset,
        *map(
            callback,
            (
                "before_tool_callback",
                "after_tool_callback",
                "before_model_callback",
                "after_model_callback",
                "before_agent_callback",
                "after_agent_callback",
            ),
        ),
        sync_callback,
        model,
        instruction,
        custom_agent,
        sub_agent,
        looped,
        agent_tool,
        agent_tool_model,
        parallel_branch,
        parallel_tool,
        workflow_node,
        sync_workflow_node,
        workflow_agent,
        parallel_nodes,
    )
}


class Hostile(BasePlugin):
    """A plugin that does it in one of its hooks."""

    def __init__(self, hook: str, do: Do) -> None:
        super().__init__(name="hostile")

        async def called(**_: Any) -> None:
            await _awaited(do)

        setattr(self, hook, called)


HOOKS = (
    "on_user_message_callback",
    "before_run_callback",
    "after_run_callback",
    "on_event_callback",
    "before_agent_callback",
    "before_model_callback",
    "after_model_callback",
    "before_tool_callback",
    "after_tool_callback",
)


# --------------------------------------------------------------------------- what is never done, or left


RELEASED = threading.Event()
"""Set when a test is over: even the worst agent lets its loop be closed then."""


BEGUN = threading.Event()
"""Set by code that does not end by itself, once it runs."""

LEFT = threading.Event()
"""Set by what a tool left behind, right before it exits."""


async def swallows() -> None:
    BEGUN.set()
    while not RELEASED.is_set():
        with suppress(BaseException):
            await asyncio.sleep(0.02)


async def hangs() -> None:
    BEGUN.set()
    await asyncio.Event().wait()


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def awaits_cancelled() -> None:
    task = asyncio.ensure_future(asyncio.sleep(3600))
    task.cancel()
    await task


_ASYNC_DEEDS = {each.__name__ for each in (swallows, hangs, cancels_itself, awaits_cancelled)}


def leaks_task() -> dict[str, bool]:
    async def later() -> None:
        await asyncio.sleep(0.01)
        LEFT.set()
        raise SystemExit(5)

    asyncio.get_running_loop().create_task(later())
    return {"ok": True}


def leaks_thread() -> dict[str, bool]:
    def later() -> None:
        LEFT.set()
        exits()

    threading.Thread(target=later, daemon=True).start()
    return {"ok": True}


class _Thing:
    pass


def _generates() -> Any:
    yield 1


async def _returns() -> int:
    return 1


UNAWAITED: list[Coroutine[Any, Any, int]] = []
"""What tools returned and nobody may have awaited. It is closed, or Python warns during another test."""


def _coroutine() -> Coroutine[Any, Any, int]:
    UNAWAITED.append(_returns())
    return UNAWAITED[-1]


RETURNED: dict[str, Do] = {
    "None": lambda: None,
    "object": _Thing,
    "huge": lambda: {"text": "x" * 3_000_000},
    "generator": _generates,
    "coroutine": _coroutine,
    "bytes": lambda: b"\x00\xff",
    "set": lambda: {1, 2},
    "class": lambda: _Thing,
    "exception": lambda: SystemExit(1),
    "nan": lambda: {"x": float("nan"), "y": "\ud800"},
}
