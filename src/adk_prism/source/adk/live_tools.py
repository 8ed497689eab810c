"""The tool objects that ADK is about to call for an agent in a live run.

ADK creates a new FunctionTool for each plain function; the objects that a call will run are cached in the
agent's own InvocationContext (`canonical_tools_cache`), which google-adk 2.13 gives to plugins only inside
a CallbackContext (`_invocation_context`).

Without it a call that waits for a person is not made non-blocking: the approval works, but the agent does not
speak meanwhile.
"""

from __future__ import annotations

from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools.base_tool import BaseTool


def agent_context(context: ReadonlyContext) -> InvocationContext | None:
    """Return the InvocationContext of the agent that a callback is called for."""
    found = getattr(context, "_invocation_context", None)
    return found if isinstance(found, InvocationContext) else None


def find_tool(context: InvocationContext, name: str) -> BaseTool | None:
    """Return the tool of this name that ADK will call for the agent of a context."""
    tools = getattr(context, "canonical_tools_cache", None) or []
    return next((tool for tool in tools if tool.name == name), None)


def probe() -> str | None:
    """Return None if an agent's tools can be found, else why not."""
    if "canonical_tools_cache" not in InvocationContext.model_fields:
        return "InvocationContext has no canonical_tools_cache."
    context: Any = object()
    is_kept = getattr(ReadonlyContext(context), "_invocation_context", None) is context
    if not is_kept or not issubclass(CallbackContext, ReadonlyContext):
        return "CallbackContext has no _invocation_context."
    return None
