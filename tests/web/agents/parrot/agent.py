"""An agent that repeats what it is told: as text, as a tool's input and as its result."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import ToolContext

from adk_prism.models import Call, ScriptedModel, Think, Turn, read_conversation, say


def repeat(words: str, tool_context: ToolContext) -> dict[str, Any]:
    """Give the words back, and remember them."""
    tool_context.state["words"] = words
    return {"words": words, words[:40]: words}


def _script(request: LlmRequest) -> Turn:
    conversation = read_conversation(request)
    words = conversation.prompt
    if conversation.answer("repeat") is None:
        return Turn((Think(words), Call("repeat", {"words": words})))
    return say(words)


root_agent = LlmAgent(
    name="parrot",
    description="<img src=x onerror=alert(1)> repeats what it is told.",
    model=ScriptedModel(model="parrot-offline", script=_script),
    tools=[repeat],
)
