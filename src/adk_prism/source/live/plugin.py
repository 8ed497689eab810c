"""The ADK plugin of live runs: calls that wait for a person or the client.

google-adk 2.13 has no approvals in live runs: a tool that needs one is refused without asking. Here the
call waits, in the background (`run_context`), and then runs or is refused, as in any other run. An
exception of a tool is answered with an error: for a background call ADK would only log it and the model
would wait for ever; for any other it would end the conversation.

It also sets the invocation id, which ADK generates by itself in live runs.
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
from adk_prism.facts.adk_event import INPUT
from adk_prism.runlog.entry import NOTHING, is_absent, to_raw
from adk_prism.source.adk.live_call_cancellation import CANCEL_CALLS
from adk_prism.source.adk.live_connect_request import SEE_REQUEST
from adk_prism.source.adk.live_tools import agent_context
from adk_prism.source.approval_payload_errors import tool_failure
from adk_prism.source.client_tool import is_client_tool
from adk_prism.source.live.audio_bypass import CONNECTION_OWNER
from adk_prism.source.live.pending_questions import (
    CANCELLED,
    ApprovalDecision,
    ApprovalPrompt,
    PendingQuestions,
)
from adk_prism.source.live.run_context import CURRENT_RUN, NonBlockingTools, current_run
from adk_prism.source.plain_json import storable

NAME = "adk_prism_live"

MAX_QUESTIONS = 8
"""Approvals that one call may ask for, one after the other."""

ALWAYS_BLOCKING = frozenset({"transfer_to_agent", "task_completed"})
"""ADK acts on their responses only in its receiving loop."""


def live_plugin(runner: Runner, report: Report) -> LivePlugin:
    """Return the Runner's plugin for live runs; add it behind the node plugin if it is missing."""
    manager = runner.plugin_manager
    known = manager.get_plugin(NAME)
    if isinstance(known, LivePlugin):
        return known
    plugin = LivePlugin(report)
    first = 1 if manager.plugins and manager.plugins[0].name == "adk_prism_nodes" else 0
    manager.plugins.insert(first, plugin)
    return plugin


class LivePlugin(BasePlugin):
    """Serves every live run of one Runner; it ignores other runs."""

    def __init__(self, report: Report) -> None:
        super().__init__(name=NAME)
        self.nonblocking_tools = NonBlockingTools()
        self._report = report

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        run = CURRENT_RUN.get()
        if run is not None and invocation_context.live_request_queue is run.request_queue:
            invocation_context.invocation_id = run.invocation
            run.root = invocation_context

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        run = current_run(callback_context.invocation_id)
        context = agent_context(callback_context)
        if run is not None and context is not None:
            run.enter_agent(agent.name, context)
            if run.audio_bypass is not None:
                await run.audio_bypass.enter_agent(agent, context)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """Prepare for calls before ADK runs them."""
        run = current_run(invocation_context.invocation_id)
        if run is None:
            return
        if run.audio_bypass is not None:
            run.audio_bypass.event_enters()
        if event.partial:
            return
        for call in event.get_function_calls():
            run.questions.add_call(call.id or "")
            tool = run.tool(event.author, call.name or "")
            if tool is None or not call.id or tool.name in ALWAYS_BLOCKING:
                continue
            if run.questions.is_cancelled(call.id):
                continue
            context = ToolContext(invocation_context, function_call_id=call.id)
            gated = await self._is_gated(tool, dict(call.args or {}), context)
            if gated or tool.is_long_running:
                run.expect_answer(call.id, tool, gated=gated)
            if tool.name == INPUT:
                run.questions.expect_input(call.id, to_raw(storable(dict(call.args or {}))))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Wait for the approval, or for the client's result; respond for a call that must not run here."""
        run = current_run(tool_context.invocation_id)
        call = tool_context.function_call_id
        if run is None or not call:
            return None
        CONNECTION_OWNER.set(None)
        CANCEL_CALLS.set(None)
        SEE_REQUEST.set(None)
        run.nonblocking_calls.remove(call)
        if run.questions.is_cancelled(call):
            return {"error": CANCELLED}
        if await self._is_gated(tool, tool_args, tool_context):
            decision = await run.questions.ask(call, tool.name)
            if not decision.approved:
                reason = f" Reason: {decision.reason}" if decision.reason else ""
                return {"error": f"This tool call is rejected.{reason}"}
            tool_context.tool_confirmation = _confirmation(decision)
        return await run.questions.wait_for_result(call) if is_client_tool(tool) else None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Ask for the approval that the tool itself asks for; wait for the client's result of a long-running
        tool that returned nothing."""
        run = current_run(tool_context.invocation_id)
        call = tool_context.function_call_id
        if run is None or not call:
            return None
        if call in tool_context.actions.requested_tool_confirmations:
            return await self._confirmed(run.questions, tool, tool_args, tool_context)
        is_pending = tool.is_long_running and not result
        return await run.questions.wait_for_result(call) if is_pending else None

    async def _confirmed(
        self,
        questions: PendingQuestions,
        tool: BaseTool,
        args: dict[str, Any],
        context: ToolContext,
    ) -> dict[str, Any]:
        """Run a tool again with the decision, as ADK does in other runs; it may ask once more."""
        call = context.function_call_id or ""
        result: Any = None
        for _ in range(MAX_QUESTIONS):
            asked = context.actions.requested_tool_confirmations.pop(call, None)
            if asked is None:
                return result if isinstance(result, dict) else {"result": result}
            payload = NOTHING if asked.payload is None else to_raw(storable(asked.payload))
            decision = await questions.ask(call, tool.name, ApprovalPrompt(asked.hint, payload))
            context.tool_confirmation = _confirmation(decision)
            try:
                result = await tool.run_async(args=args, tool_context=context)
            except Exception as error:  # an exception of a callback would end the conversation
                context.actions.requested_tool_confirmations.pop(call, None)
                return tool_failure(tool, error, self._report)
        context.actions.requested_tool_confirmations.pop(call, None)
        return {"error": f"The tool asked for more than {MAX_QUESTIONS} approvals."}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Respond for a tool that raised: the model gets an error, the operator the cause."""
        del tool_args
        if current_run(tool_context.invocation_id) is None or not isinstance(error, Exception):
            return None
        return tool_failure(tool, error, self._report)

    async def _is_gated(self, tool: BaseTool, args: dict[str, Any], context: ToolContext) -> bool:
        # As in ADK's own check: anything but True lets the call through.
        try:
            return await tool.check_require_confirmation(args, context) is True
        except Exception as error:  # the app's own function: ask a person to be safe
            self._report(Diagnostic(kind="gate failed", detail=tool.name, cause=cause_of(error)))
            return True


def _confirmation(decision: ApprovalDecision) -> ToolConfirmation:
    payload = None if is_absent(decision.payload) else json.decode(decision.payload)
    return ToolConfirmation(confirmed=decision.approved, payload=payload)
