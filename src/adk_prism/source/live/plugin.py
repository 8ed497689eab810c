"""The ADK plugin of live runs: it stands before the tools that wait for somebody.

google-adk 2.13 has no approvals in live runs: a tool that needs one is refused, and nobody is asked. Here
the call waits, in the background (`switches`), for the person or the client, and then runs, or is refused,
as in any other run. An exception of a tool is answered with an error: in the background ADK would only log
it, and the model would wait for ever; in the foreground it would end the conversation.

Also decides the invocation's id, which ADK draws by itself in live runs.
"""

from __future__ import annotations

from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext
from msgspec import json

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.runlog.entry import NOTHING, is_absent, to_raw
from adk_prism.source.client_tool import is_client_tool
from adk_prism.source.confirmed_tools import tool_failure
from adk_prism.source.live.desk import DESK, WITHDRAWN, Desk, Verdict, Wanted
from adk_prism.source.live.shortcut import ROUTE
from adk_prism.source.live.switches import Switchboard
from adk_prism.source.plain_json import storable

NAME = "adk_prism_live"
INPUT = "adk_request_input"
"""ADK's tool with which an agent asks a person something."""

MOST_QUESTIONS = 8
"""Approvals that one call may ask for, one after the other; a tool that asks for ever would never end."""

NEVER_SWITCHED = frozenset({"transfer_to_agent", "task_completed"})
"""ADK acts on their answers only where its receiving loop gives them."""


def live_plugin(runner: Runner, report: Report) -> LivePlugin:
    """Return the Runner's plugin for live runs; it is added behind the one that sees nodes."""
    manager = runner.plugin_manager
    known = manager.get_plugin(NAME)
    if isinstance(known, LivePlugin):
        return known
    plugin = LivePlugin(report)
    first = 1 if manager.plugins and manager.plugins[0].name == "adk_prism_nodes" else 0
    manager.plugins.insert(first, plugin)
    return plugin


class LivePlugin(BasePlugin):
    """Serves every live run of one Runner; for any other run it does nothing."""

    def __init__(self, report: Report) -> None:
        super().__init__(name=NAME)
        self.board = Switchboard()
        self._report = report

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        desk = DESK.get()
        if desk is not None and invocation_context.live_request_queue is desk.inbox:
            invocation_context.invocation_id = desk.invocation
            desk.root = invocation_context

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        desk = _desk(callback_context.invocation_id)
        if desk is not None:
            context = callback_context._invocation_context
            desk.enter(agent.name, context)
            if desk.shortcut is not None:
                await desk.shortcut.meet(agent, context)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """See calls before ADK runs them."""
        desk = _desk(invocation_context.invocation_id)
        if desk is None:
            return
        if desk.shortcut is not None:
            desk.shortcut.event_enters()
        if event.partial:
            return
        for call in event.get_function_calls():
            desk.see(call.id or "")
            tool = desk.tool(event.author, call.name or "")
            if tool is None or not call.id or tool.name in NEVER_SWITCHED:
                continue
            if desk.is_withdrawn(call.id):
                continue
            context = ToolContext(invocation_context, function_call_id=call.id)
            gated = await self._is_gated(tool, dict(call.args or {}), context)
            if gated or tool.is_long_running:
                desk.expect(call.id, tool, gated=gated)
            if tool.name == INPUT:
                desk.expect_input(call.id, to_raw(storable(dict(call.args or {}))))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Wait for whom the call waits for; answer in its place where it must not run here."""
        desk = _desk(tool_context.invocation_id)
        call = tool_context.function_call_id
        if desk is None or not call:
            return None
        ROUTE.set(None)
        desk.switches.off(call)
        if desk.is_withdrawn(call):
            return {"error": WITHDRAWN}
        if await self._is_gated(tool, tool_args, tool_context):
            verdict = await desk.ask(call, tool.name)
            if not verdict.approved:
                reason = f" Reason: {verdict.reason}" if verdict.reason else ""
                return {"error": f"This tool call is rejected.{reason}"}
            tool_context.tool_confirmation = _confirmation(verdict)
        return await desk.fetch(call) if is_client_tool(tool) else None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Ask the person for what the tool itself asks for; let the client answer for a long-running tool
        that has not."""
        desk = _desk(tool_context.invocation_id)
        call = tool_context.function_call_id
        if desk is None or not call:
            return None
        if call in tool_context.actions.requested_tool_confirmations:
            return await self._confirmed(desk, tool, tool_args, tool_context)
        return await desk.fetch(call) if tool.is_long_running and not result else None

    async def _confirmed(
        self, desk: Desk, tool: BaseTool, args: dict[str, Any], context: ToolContext
    ) -> dict[str, Any]:
        """Run a tool again with a person's answer, as ADK does in other runs; it may ask once more."""
        call = context.function_call_id or ""
        result: Any = None
        for _ in range(MOST_QUESTIONS):
            asked = context.actions.requested_tool_confirmations.pop(call, None)
            if asked is None:
                return result if isinstance(result, dict) else {"result": result}
            payload = NOTHING if asked.payload is None else to_raw(storable(asked.payload))
            verdict = await desk.ask(call, tool.name, Wanted(asked.hint, payload))
            context.tool_confirmation = _confirmation(verdict)
            try:
                result = await tool.run_async(args=args, tool_context=context)
            except Exception as error:  # an exception of a callback would end the conversation
                context.actions.requested_tool_confirmations.pop(call, None)
                return tool_failure(tool, error, self._report)
        context.actions.requested_tool_confirmations.pop(call, None)
        return {"error": "The tool asks for an approval again and again."}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Answer for a tool that raised: the model is told that it did, the operator why."""
        del tool_args
        if _desk(tool_context.invocation_id) is None or not isinstance(error, Exception):
            return None
        return tool_failure(tool, error, self._report)

    async def _is_gated(self, tool: BaseTool, args: dict[str, Any], context: ToolContext) -> bool:
        # Asked as ADK's own gate asks: anything but True lets the call through.
        try:
            return await tool.check_require_confirmation(args, context) is True
        except Exception as error:  # the app's own function: when in doubt, a person is asked
            self._report(Diagnostic(kind="gate failed", detail=tool.name, cause=cause_of(error)))
            return True


def _confirmation(verdict: Verdict) -> ToolConfirmation:
    payload = None if is_absent(verdict.payload) else json.decode(verdict.payload)
    return ToolConfirmation(confirmed=verdict.approved, payload=payload)


def _desk(invocation: str) -> Desk | None:
    """Return the desk of the live run that this happens in, and not in a run inside one of its tools."""
    desk = DESK.get()
    return desk if desk is not None and desk.invocation == invocation else None
