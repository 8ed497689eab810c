"""Tools that fail on the payload of an approval.

A payload is validated before the approval counts (`facts/calls/answer_schema`); the tool may still reject
it. ADK would end the run with the exception, and the approval would be used up. This plugin answers
instead of the tool: the model gets an error, the operator the cause. It acts only in runs that took such
a payload from a person; on ADK's own routes ADK handles the exception.
"""

from __future__ import annotations

from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from adk_prism.diagnostics import Report
from adk_prism.source.error_text import report_error
from adk_prism.source.redaction import safe_code

NAME = "adk_prism_confirmed_tools"


class ApprovalPayloadErrors(BasePlugin):
    """Handles tool errors in the runs of one Runner that got a payload."""

    def __init__(self) -> None:
        super().__init__(name=NAME)
        self._reports: dict[str, Report] = {}
        """By invocation; a session has one run at a time, so an invocation has one as well."""

    def enter(self, invocation: str, report: Report) -> None:
        """Register a run that took a payload from a person."""
        self._reports[invocation] = report

    def leave(self, invocation: str) -> None:
        """Remove a run that is over."""
        self._reports.pop(invocation, None)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Answer for a tool that raised on a payload; leave every other exception to ADK."""
        del tool_args
        report = self._reports.get(tool_context.invocation_id)
        confirmation = tool_context.tool_confirmation
        if report is None or confirmation is None or confirmation.payload is None:
            return None
        return tool_failure(tool, error, report) if isinstance(error, Exception) else None


def approval_payload_errors(runner: Runner) -> ApprovalPayloadErrors:
    """Return the Runner's plugin for such tools; it is added on first use."""
    manager = runner.plugin_manager
    known = manager.get_plugin(NAME)
    if isinstance(known, ApprovalPayloadErrors):
        return known
    plugin = ApprovalPayloadErrors()
    manager.plugins.append(plugin)
    return plugin


def tool_failure(tool: BaseTool, error: Exception, report: Report) -> dict[str, Any]:
    """Return the answer of a tool that raised, and report why."""
    correlation = report_error(report, "tool failed", error, tool.name)
    kind = safe_code(type(error).__name__)
    return {"error": f"The tool failed ({kind}). Reference: {correlation}."}
