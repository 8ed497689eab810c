"""The ADK callbacks by which nodes are observed: of agents, models, tools, and runs inside tools.

google-adk calls plugins for agents and tools, and not for other nodes: their starts, and the ends of all
nodes of the newer runtime, come from the log of its node runner (`adk.log_listener`). `nodes.tracker`
decides what they mean; this module only dispatches. Observing never makes a run fail, and answers nothing.

The plugin must be the first: after one plugin has answered for an agent or a tool, ADK calls no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from adk_prism.source.adk.log_listener import AdkLogListener
from adk_prism.source.nodes import tracker
from adk_prism.source.run_observer import SCOPE, RunObserver


class NodeCallbacks(BasePlugin):
    """Notifies the observer of the current run; without one, it does nothing."""

    async def observe(self, invocation: str, look: Callable[..., None], *what: object) -> None:
        """Let the observer of an invocation see something. Never raises for what it sees."""
        del invocation  # The current scope says which run it is.
        await see(look, *what)

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        at = callback_context.invocation_id
        await self.observe(at, tracker.agent_started, agent, callback_context)

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        at = callback_context.invocation_id
        await self.observe(at, tracker.agent_ended, agent, callback_context)

    async def on_agent_error_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext, error: Exception
    ) -> None:
        await self.observe(callback_context.invocation_id, tracker.agent_failed, agent, error)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        await see(tracker.model_asked, callback_context, llm_request)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        # For every delta: no more than this, and nothing is written.
        scope = SCOPE.get()
        if scope is not None and scope.observer.calls.wants(llm_response):
            _look(tracker.model_answered, callback_context, llm_response)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        del llm_request
        await see(tracker.model_failed, callback_context, error)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        del tool_args
        await self.observe(tool_context.invocation_id, tracker.tool_started, tool, tool_context)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> Any | None:
        del tool_args
        at = tool_context.invocation_id
        await self.observe(at, tracker.tool_ended, tool, tool_context, result)
        return None

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> None:
        del tool, tool_args
        at = tool_context.invocation_id
        await self.observe(at, tracker.tool_failed, tool_context, error)


async def see(look: Callable[..., None], *what: object) -> None:
    """Call an observer function, and write its records."""
    observer = _look(look, *what)
    if observer is None:
        return
    if tracker.is_cancelling():
        observer.poke()  # a second cancellation while it waits would lose the records
    else:
        await observer.flush()


def _look(look: Callable[..., None], *what: object) -> RunObserver | None:
    scope = SCOPE.get()
    if scope is None or scope.observer.is_inactive:
        return None
    try:
        look(scope, *what)
    except Exception as error:  # Observing must not fail a run; the operator gets a report.
        scope.observer.report(error)
    return scope.observer


def _signal(look: Callable[..., None]) -> Callable[[str], None]:
    def signal(path: str) -> None:
        observer = _look(look, path)
        if observer is not None:
            observer.poke()

    return signal


SIGNALS = AdkLogListener(
    _signal(tracker.node_started),
    _signal(tracker.node_ended),
    _signal(tracker.node_cancelled),
)
"""One for the process, like ADK's logger; attached at the first run."""
