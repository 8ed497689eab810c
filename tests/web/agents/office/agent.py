"""An office that asks before it does anything: with payloads, and from several specialists at once."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool, ToolContext

from adk_prism.models import Call, Script, ScriptedModel, Turn, read_conversation, say

Json = dict[str, Any]


def request_time_off(days: int, tool_context: ToolContext) -> Json:
    """Request days off; a person says how many of them."""
    return _with_payload(tool_context, {"approved_days": 0, "comment": ""}) or {"requested": days}


def plan_shift(week: int, tool_context: ToolContext) -> Json:
    """Plan a shift; a person says from when to when."""
    sample = {"range": {"first": 1, "last": 5}}
    return _with_payload(tool_context, sample) or {"planned": week}


def _with_payload(context: ToolContext, sample: Json) -> Json | None:
    if context.tool_confirmation is None:
        context.request_confirmation(hint="Approve, and fill this in.", payload=sample)
        return {"status": "waiting"}
    return (
        {"given": context.tool_confirmation.payload}
        if context.tool_confirmation.confirmed
        else None
    )


def pay(amount: int) -> Json:
    """Pay; a person has to approve it."""
    return {"paid": amount}


ERRANDS = {
    "time off": Call("request_time_off", {"days": 5}),
    "shift": Call("plan_shift", {"week": 7}),
}
PAYERS = {"north": 10, "south": 20}


def _script(request: LlmRequest) -> Turn:
    conversation = read_conversation(request)
    called = {"pay": [Call(name, {"request": "pay"}) for name in PAYERS]}
    calls = called.get(conversation.prompt) or [ERRANDS[conversation.prompt]]
    answers = [conversation.answer(call.name) for call in calls]
    return Turn(tuple(calls)) if None in answers else say(f"The office says: {answers}")


def _payer(name: str, amount: int) -> LlmAgent:
    def script(request: LlmRequest) -> Turn:
        answer = read_conversation(request).answer("pay")
        if answer is None:
            return Turn((Call("pay", {"amount": amount}),))
        return say(f"{name} was not allowed" if "error" in answer else f"{name} paid {amount}")

    tools = [FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(name=name, mode="single_turn", model=_model(script), tools=tools)


def _model(script: Script) -> ScriptedModel:
    return ScriptedModel(model="office-offline", script=script)


root_agent = LlmAgent(
    name="office",
    model=_model(_script),
    tools=[request_time_off, plan_shift],
    sub_agents=[_payer(name, amount) for name, amount in PAYERS.items()],
)
