"""The proof of a specialist's answer: what its tools found in this call, as one layer beside the text.

ADK answers a call of a sub-agent with the text alone. The coordinator's callback adds `proof_layer`, so
that a client finds the specialist's confidence and sources in the response itself, whichever model wrote
the text. The layers are those of the call's own events, which carry its id in their branch; a specialist
whose tools gave none has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.adk.events.event import Event
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from adk_prism.proof import combined

from .agent_names import SPECIALISTS


def add_proof(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
) -> dict[str, Any] | None:
    """Return a specialist's answer with its proof; None leaves the answer of a tool as it is."""
    if tool.name not in SPECIALISTS:
        return None
    layers = _layers(tool_context.session.events, f"{tool.name}@{tool_context.function_call_id}")
    if not layers:
        return None
    response = tool_response if isinstance(tool_response, dict) else {"result": tool_response}
    return response | {"proof_layer": combined(layers)}


def _layers(events: Iterable[Event], branch: str) -> dict[str, dict[str, Any]]:
    """Return the layers that tools gave in a branch, by the name of their finding."""
    layers: dict[str, dict[str, Any]] = {}
    for event in events:
        if branch not in (event.branch or "").split("."):
            continue
        for answer in event.get_function_responses():
            layer = (answer.response or {}).get("proof_layer")
            if isinstance(layer, dict):
                layers[_name(layer, answer.name or "")] = layer
    return layers


def _name(layer: dict[str, Any], tool: str) -> str:
    """Return the finding's name without that of the specialist."""
    return str(layer.get("finding") or tool).partition(".")[2] or tool
