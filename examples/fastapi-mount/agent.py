"""The shop's agent: it sees the orders of whoever is signed in, and asks before it cancels one."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types
from shop import orders_of

from adk_prism import ScriptedModel, client_tool, model_from_environment
from adk_prism.models import Call, Say, Turn, read_conversation, say


def list_orders(tool_context: ToolContext) -> dict[str, Any]:
    """List the orders of the person."""
    return {"orders": orders_of(tool_context.user_id)}


def cancel_order(number: int, tool_context: ToolContext) -> dict[str, Any]:
    """Cancel an order."""
    orders = orders_of(tool_context.user_id)
    if number not in orders:
        return {"error": f"There is no order {number}."}
    orders[number] = "cancelled"
    return {"cancelled": number}


def script(request: LlmRequest) -> Turn:
    """Answer without a model: say `orders`, `cancel`, `nearest shop` or `returns`."""
    talk = read_conversation(request)
    if talk.answers:
        return say("; ".join(f"{answer.name}: {dict(answer.response)}" for answer in talk.answers))
    calls = {
        "orders": Call("list_orders"),
        "cancel": Call("cancel_order", {"number": 17}),
        "nearest": Call("get_location"),
    }
    word = talk.prompt.split()[0].lower() if talk.prompt.split() else ""
    if word == "returns":
        policy = types.GroundingChunkWeb(uri="https://example.com/returns", title="Our policy")
        found = types.GroundingMetadata(grounding_chunks=[types.GroundingChunk(web=policy)])
        return Turn((Say("You have thirty days."),), grounding=found)
    return Turn((calls[word],)) if word in calls else say(script.__doc__ or "")


app = App(
    name="shop",
    root_agent=LlmAgent(
        name="shop",
        instruction="You help the customers of a shop with their orders.",
        model=model_from_environment(ScriptedModel(script=script)),
        tools=[
            list_orders,
            FunctionTool(cancel_order, require_confirmation=True),
            client_tool("get_location", "Where the person is: the browser knows."),
        ],
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)
