"""Calls in doubt: made by a process that died, and perhaps run, perhaps not, before it did.

ADK runs a call without an answer again when an invocation is resumed: at least once, never exactly once. What
that means depends on the tool, so the operator chooses (`--in-doubt`), and a tool that can be repeated safely
says so:

    @idempotent
    def transfer(amount: int, tool_context: ToolContext) -> dict:
        return bank.transfer(amount, key=idempotency_key(tool_context))

Its key is the same each time the call is run, and no other call has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

InDoubt = Literal["retry", "fail", "ask"]
"""Run the call again, answer it with an error, or ask a person first."""

_MARK = "adk_prism_idempotent"
_FAILED = (
    "This call was under way when the server died, may have taken effect, and was not repeated."
)
_ASKED = (
    "This call was under way when the server died: it may have taken effect already. Run it again?"
)
_WAITS = "A person is asked whether to repeat this call."
_REJECTED = "This tool call is rejected."

Tool = TypeVar("Tool", bound=Callable[..., Any] | BaseTool)


def idempotent(tool: Tool) -> Tool:
    """Mark a tool as one that may be repeated: it gives `idempotency_key` to whatever it changes."""
    setattr(tool, _MARK, True)
    return tool


def idempotency_key(tool_context: ToolContext) -> str:
    """Return the name of a call that it keeps when it is run again after a takeover."""
    return f"{tool_context.invocation_id}/{tool_context.function_call_id or ''}"


def answer_in_doubt(policy: InDoubt, tool: BaseTool, context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt in place of the tool's; None lets it run."""
    if policy == "retry" or _is_idempotent(tool):
        return None
    if policy == "fail":
        return {"error": _FAILED}
    context.request_confirmation(hint=_ASKED)
    context.actions.skip_summarization = True
    return {"error": _WAITS}


def answer_denied(context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call that a person, asked because of a doubt, does not want repeated.

    ADK itself keeps only those tools from running that it gates.
    """
    confirmation = context.tool_confirmation
    if confirmation is None or confirmation.confirmed:
        return None
    call = context.function_call_id or ""
    for event in reversed(context.session.events):
        asked = event.actions.requested_tool_confirmations.get(call)
        if asked is not None:
            return {"error": _REJECTED} if asked.hint == _ASKED else None
    return None


def _is_idempotent(tool: BaseTool) -> bool:
    return bool(getattr(tool, _MARK, False) or getattr(getattr(tool, "func", None), _MARK, False))
