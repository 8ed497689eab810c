"""Callbacks that answer instead of the agent, the model or the tool."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest, LlmResponse
from google.adk.tools import BaseTool, ToolContext
from google.genai import types


def _said(context: CallbackContext) -> str:
    content = context.user_content
    return (content.parts[0].text or "") if content and content.parts else ""


def _reply(text: str) -> LlmResponse:
    return LlmResponse(content=types.ModelContent(text))


def before_agent(callback_context: CallbackContext) -> types.Content | None:
    """Answer instead of the agent."""
    return types.ModelContent("[agent]") if "skip agent" in _said(callback_context) else None


def after_agent(callback_context: CallbackContext) -> types.Content | None:
    """Add an answer."""
    return types.ModelContent("[added]") if "add" in _said(callback_context) else None


def before_model(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Answer instead of the model."""
    return _reply("[model]") if "skip model" in _said(callback_context) else None


def after_model(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
    """Withhold a finished answer."""
    withheld = "withhold" in _said(callback_context) and not llm_response.partial
    return _reply("[withheld]") if withheld else None


def before_tool(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> Any:
    """Answer instead of the tool."""
    return {"skipped": args} if "skip tool" in _said(tool_context) else None


def after_tool(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
) -> Any:
    """Replace the tool's answer."""
    return {"replaced": tool_response} if "replace" in _said(tool_context) else None


def look(place: str) -> dict[str, str]:
    """Look somewhere."""
    return {"seen": place}


root_agent = LlmAgent(
    name="replacing_callbacks",
    model="gemini-2.5-flash",
    tools=[look],
    before_agent_callback=before_agent,
    after_agent_callback=after_agent,
    before_model_callback=before_model,
    after_model_callback=after_model,
    before_tool_callback=before_tool,
    after_tool_callback=after_tool,
)
