"""An agent that does what it is told in one word, with tools of every kind that waits."""

from __future__ import annotations

from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool, LongRunningFunctionTool

from adk_prism import client_tool
from adk_prism.models import Call, Say, Turn, read_conversation, say


def pay(amount: int) -> dict[str, Any]:
    """Pay money."""
    return {"paid": amount}


def break_down() -> dict[str, Any]:
    """Fail."""
    raise RuntimeError("a secret")


def order(what: str) -> None:
    """Order something, which somebody else answers."""


PLANS = {
    "pay": (Call("pay", {"amount": 1}, id="c1"),),
    "pay twice": (Call("pay", {"amount": 1}, id="c1"), Call("pay", {"amount": 2}, id="c2")),
    "mixed": (Call("pay", {"amount": 1}, id="c1"), Call("look", {}, id="c2")),
    "place": (Call("place", {}, id="c1"),),
    "order": (Call("order", {"what": "tea"}, id="c1"),),
    "break": (Call("break_down", {}, id="c1"),),
}


def look() -> dict[str, Any]:
    """Look."""
    return {"seen": True}


def script(request: LlmRequest) -> Turn:
    """Call what the prompt names, and say what came of it."""
    conversation = read_conversation(request)
    if conversation.answers:
        told = [f"{a.name}:{dict(a.response)}" for a in conversation.answers]
        return say("; ".join(told))
    if conversation.prompt == "talk":
        return say(" ".join(f"word{n}" for n in range(2000)))
    plan = PLANS.get(conversation.prompt)
    return Turn((Say("Well. "), *plan)) if plan else say(f"You said {conversation.prompt}.")


TOOLS = [
    FunctionTool(pay, require_confirmation=True),
    FunctionTool(break_down, require_confirmation=True),
    FunctionTool(look),
    client_tool("place", "Where the device is."),
    LongRunningFunctionTool(order),
]
