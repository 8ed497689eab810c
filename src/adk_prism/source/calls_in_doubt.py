"""Calls in doubt: a process died while they ran, so it is unknown whether they took effect.

When an invocation is resumed, ADK runs a call without an answer again: at least once, not exactly once.
What is right depends on the tool, so a tool can declare a policy, or that it can be repeated safely:

    @in_doubt("ask")
    def send_letter(text: str) -> dict: ...

    @idempotent
    def transfer(amount: int, tool_context: ToolContext) -> dict:
        return bank.transfer(amount, key=idempotency_key(tool_context))

The key is the same each time the call runs, and no other call has it. The operator's policy for a tool by
name (`--in-doubt-tool`) comes first, then the tool's own, then the operator's for all (`--in-doubt`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from msgspec import Struct

from adk_prism.errors import UsageError

Policy = Literal["retry", "fail", "ask"]
"""Run the call again, answer it with an error, or ask a person first."""

POLICIES: tuple[Policy, ...] = ("retry", "fail", "ask")

_MARK = "adk_prism_in_doubt"
_FAILED = (
    "This call was under way when the server died, may have taken effect, and was not repeated."
)
_ASKED = (
    "This call was under way when the server died: it may have taken effect already. Run it again?"
)
_WAITS = "A person is asked whether to repeat this call."
_REJECTED = "This tool call is rejected."

Tool = TypeVar("Tool", bound=Callable[..., Any] | BaseTool)


class InDoubt(Struct, frozen=True):
    """The operator's policy."""

    policy: Policy = "retry"
    tools: Mapping[str, Policy] = {}
    """Policies of single tools, by name."""

    def of(self, tool: BaseTool) -> Policy:
        """Return the policy for a call of a tool."""
        return self.tools.get(tool.name) or _mark_of(tool) or self.policy


def in_doubt(policy: Policy) -> Callable[[Tool], Tool]:
    """Declare what to do about a call of this tool that was running when its process died.

    `retry` runs it again, `fail` answers it with an error, `ask` asks a person first. Raise `UsageError`
    for anything else.
    """
    if policy not in POLICIES:
        raise UsageError(
            f"The policy for calls in doubt must be retry, fail or ask, got {policy!r}."
        )

    def mark(tool: Tool) -> Tool:
        setattr(tool, _MARK, policy)
        return tool

    return mark


def idempotent(tool: Tool) -> Tool:
    """Mark a tool as one that may be repeated: it gives `idempotency_key` to whatever it changes."""
    return in_doubt("retry")(tool)


def idempotency_key(tool_context: ToolContext) -> str:
    """Return a key that a call keeps when it runs again after a takeover."""
    return f"{tool_context.invocation_id}/{tool_context.function_call_id or ''}"


def answer_in_doubt(doubt: InDoubt, tool: BaseTool, context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt in place of the tool's; None lets it run."""
    policy = doubt.of(tool)
    if policy == "retry":
        return None
    if policy == "fail":
        return {"error": _FAILED}
    context.request_confirmation(hint=_ASKED)
    context.actions.skip_summarization = True
    return {"error": _WAITS}


def answer_denied(context: ToolContext) -> dict[str, Any] | None:
    """Return the answer to a call in doubt that a person does not want repeated.

    ADK itself stops only tools with `require_confirmation`.
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


def _mark_of(tool: BaseTool) -> Policy | None:
    """Return the policy that a tool, or the function that it calls, declares."""
    found: Policy | None = getattr(tool, _MARK, None)
    return found or getattr(getattr(tool, "func", None), _MARK, None)
