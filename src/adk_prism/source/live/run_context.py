"""What the parts of one live run share: the driver, ADK's plugin callbacks, and the tools.

ADK starts tasks of its own for tools and for sending; they inherit `CURRENT_RUN` from the task that drives
the run.
"""

from __future__ import annotations

from contextvars import ContextVar

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_prism.source.adk.live_tools import find_tool
from adk_prism.source.live.audio_bypass import AudioBypass
from adk_prism.source.live.options import LiveOptions
from adk_prism.source.live.pending_questions import PendingQuestions, Write
from adk_prism.source.live.request_queue import RequestQueue


class _Changed:
    __slots__ = ("calls", "original", "tool")

    def __init__(self, tool: BaseTool) -> None:
        self.tool = tool
        """Referenced so that its id, which is the key, stays its own."""
        self.original = tool.behavior
        self.calls = 0


class NonBlockingTools:
    """The tools of one Runner that are non-blocking now, so that the agent can speak while a call waits.

    google-adk 2.13 reads the next message of a live model only after the tools of the last one have
    answered, except for tools whose `behavior` is NON_BLOCKING. A tool that declares it from the start also
    declares it to the model, and not every model accepts that. So it is set when a call arrives, and
    restored when the call starts to run. All sessions of an app share the tools: the last call restores the
    original value.
    """

    def __init__(self) -> None:
        self._changed: dict[int, _Changed] = {}

    def add(self, tool: BaseTool) -> None:
        """Make a tool non-blocking for one call."""
        self._changed.setdefault(id(tool), _Changed(tool)).calls += 1
        tool.behavior = types.Behavior.NON_BLOCKING

    def remove(self, tool: BaseTool) -> None:
        """End this for one call; after the last one the tool is as before."""
        changed = self._changed[id(tool)]
        changed.calls -= 1
        if not changed.calls:
            tool.behavior = changed.original
            del self._changed[id(tool)]


class NonBlockingCalls:
    """The calls of one run for which a tool is non-blocking."""

    def __init__(self, tools: NonBlockingTools) -> None:
        self._tools = tools
        self._calls: dict[str, BaseTool] = {}

    def add(self, call: str, tool: BaseTool) -> None:
        """Make a tool non-blocking for a call."""
        if call not in self._calls:
            self._calls[call] = tool
            self._tools.add(tool)

    def remove(self, call: str) -> None:
        """Restore the tool, now that the call runs. Other calls are ignored."""
        tool = self._calls.pop(call, None)
        if tool is not None:
            self._tools.remove(tool)

    def close(self) -> None:
        """Restore the tools of calls that never ran."""
        for call in list(self._calls):
            self.remove(call)


class LiveRunContext:
    """The shared state of one live run."""

    def __init__(
        self, invocation: str, options: LiveOptions, tools: NonBlockingTools, write: Write
    ) -> None:
        self.invocation = invocation
        self.questions = PendingQuestions(options, write)
        self.request_queue = RequestQueue(self.questions.is_cancelled)
        self.nonblocking_calls = NonBlockingCalls(tools)
        self.audio_bypass: AudioBypass | None = None
        self.root: InvocationContext | None = None
        """The run's own InvocationContext, once ADK has made it."""
        self._agents: dict[str, InvocationContext] = {}
        """The InvocationContext of each agent that has run, the current one last."""

    def enter_agent(self, agent: str, context: InvocationContext) -> None:
        """Note that an agent starts to run."""
        self._agents.pop(agent, None)
        self._agents[agent] = context

    @property
    def agent(self) -> BaseAgent | None:
        """The agent that runs now."""
        context = next(reversed(self._agents.values()), None)
        found = context.agent if context is not None else None
        return found if isinstance(found, BaseAgent) else None

    def tool(self, agent: str, name: str) -> BaseTool | None:
        """Return the tool that a call of an agent will run."""
        context = self._agents.get(agent)
        return find_tool(context, name) if context is not None else None

    def expect_answer(self, call: str, tool: BaseTool, *, gated: bool) -> None:
        """Prepare for a call that waits for an approval, for the client, or for both."""
        self.nonblocking_calls.add(call, tool)
        if gated:
            self.questions.expect_approval(call)
        if tool.is_long_running:
            self.questions.expect_result(call)

    def close(self) -> None:
        """End all waiting, and release what ADK gave."""
        self.questions.close()
        self.nonblocking_calls.close()
        self._agents.clear()
        self.root = None


CURRENT_RUN: ContextVar[LiveRunContext | None] = ContextVar("adk_prism_live_run", default=None)


def current_run(invocation: str) -> LiveRunContext | None:
    """Return the live run of this invocation; None elsewhere, also in a run that one of its tools starts."""
    run = CURRENT_RUN.get()
    return run if run is not None and run.invocation == invocation else None
