"""The ADK plugin that observes agents, tools, and runs inside tools.

google-adk calls plugins for agents and tools, and not for other nodes: their starts, and the ends of all
nodes of the newer runtime, come from the log of its node runner (`adk.log_listener`). `nodes.tracker`
decides what they mean; this module only dispatches. Observing never makes a run fail.

The plugin must be the first: after one plugin has answered for an agent or a tool, ADK calls no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import BaseNode

from adk_prism.runlog.leases import still_owned
from adk_prism.source.adk.log_listener import AdkLogListener
from adk_prism.source.nodes import tracker
from adk_prism.source.plain_json import make_storable
from adk_prism.source.run_observer import SCOPE, RunObserver
from adk_prism.source.tool_work import WORK
from adk_prism.source.unconfirmed_calls import answer_denied, answer_in_doubt

NAME = "adk_prism_nodes"
_NOT_CALLED = "The tool was not called: its start could not be recorded."


def watch_nodes(runner: Runner) -> None:
    """Observe a Runner's nodes: add our plugin to it, before all others."""
    manager = runner.plugin_manager
    if manager.get_plugin(NAME) is None:
        manager.plugins.insert(0, NodePlugin(runner.agent))
    SIGNALS.attach()


class NodePlugin(BasePlugin):
    """Notifies the observer of the current run; without one, it does nothing."""

    def __init__(self, root: BaseNode) -> None:
        """`root` is that of the Runner: ADK's callbacks do not give it if it is not an agent."""
        super().__init__(name=NAME)
        self._root = root

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        await _see(tracker.run_started, invocation_context, self._root)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        if not event.partial:
            await still_owned()  # ADK stores it next; only the owner of the run may.
            make_storable(event)
        # The run's own events are yielded. Of those that a tool hides none is partial.
        scope = SCOPE.get()
        if scope is not None and scope.run is not None and scope.run.owner is not None:
            await _see(tracker.event_received, invocation_context, event)

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        await _see(tracker.agent_started, agent, callback_context)

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        await _see(tracker.agent_ended, agent, callback_context)

    async def on_agent_error_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext, error: Exception
    ) -> None:
        del callback_context
        await _see(tracker.agent_failed, agent, error)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        del tool_args
        await _see(tracker.tool_started, tool, tool_context)
        answer = _instead(tool, tool_context)
        work = WORK.get()
        if answer is None and work is not None:
            work.begin(tool_context.function_call_id or "", tool.name)
        return answer

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        del tool_args
        _end_work(tool_context)
        await _see(tracker.tool_ended, tool, tool_context, result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> None:
        del tool, tool_args
        _end_work(tool_context)
        await _see(tracker.tool_failed, tool_context, error)


def _end_work(context: ToolContext) -> None:
    work = WORK.get()
    if work is not None:
        work.end(context.function_call_id or "")


def _instead(tool: BaseTool, context: ToolContext) -> dict[str, Any] | None:
    """Return an answer instead of the tool's: if the log cannot be written, or the call is in doubt."""
    scope = SCOPE.get()
    if scope is None:
        return None
    if scope.observer.error is not None:
        return {"error": _NOT_CALLED}
    policy = scope.observer.doubts.pop(context.function_call_id or "", None)
    if policy is None:
        return answer_denied(context)
    return answer_in_doubt(policy, tool, context)


async def _see(look: Callable[..., None], *what: object) -> None:
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
