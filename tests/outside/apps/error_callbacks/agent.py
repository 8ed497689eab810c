"""Callbacks that turn an error into an answer."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest, LlmResponse
from google.adk.tools import BaseTool, ToolContext
from google.genai import types


def on_model_error(
    callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
) -> LlmResponse:
    """Answer instead of failing."""
    return LlmResponse(content=types.ModelContent(f"Sorry: {type(error).__name__}"))


def on_tool_error(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception
) -> dict[str, str]:
    """Answer instead of failing."""
    return {"failed": type(error).__name__}


def fail() -> dict[str, str]:
    """Fail."""
    raise RuntimeError("It fails.")


root_agent = LlmAgent(
    name="error_callbacks",
    model="gemini-2.5-flash",
    tools=[fail],
    on_model_error_callback=on_model_error,
    on_tool_error_callback=on_tool_error,
)
