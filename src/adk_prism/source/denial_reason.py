"""Give the model the reason for a denied tool call.

ADK answers a denied call with a fixed text (`tools/_confirmation_utils.py`). What the person wrote stays
in the confirmation's payload, which only the tool could read, and it does not run. This plugin answers
instead of the tool, with ADK's text followed by the reason. It acts only for tools that ADK itself gates
(`require_confirmation`): a tool that asks by itself reads its own payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

REASON = "reason"
"""Key of the confirmation's payload that holds the person's words."""


class DenialReasonPlugin(BasePlugin):
    """Gives the model the reason of a denial."""

    def __init__(self, name: str = "adk_prism_denial") -> None:
        super().__init__(name=name)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Answer a denied call that comes with a reason; let every other call pass."""
        confirmation = tool_context.tool_confirmation
        if confirmation is None or confirmation.confirmed:
            return None
        payload = confirmation.payload
        reason = payload.get(REASON) if isinstance(payload, Mapping) else None
        if not isinstance(reason, str) or not reason:
            return None
        if not await tool.check_require_confirmation(tool_args, tool_context):
            return None
        return {"error": f"This tool call is rejected. Reason: {reason}"}
