"""An agent as a tool that takes and gives values of a shape, and one that fails."""

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from pydantic import BaseModel


class Question(BaseModel):
    """What it is asked."""

    words: list[str]


class Verdict(BaseModel):
    """What it says."""

    good: bool


def write(tool_context: ToolContext) -> dict[str, bool]:
    """Write state from below."""
    tool_context.state["from_below"] = [1]
    return {"ok": True}


def fail() -> dict[str, bool]:
    """Fail."""
    raise ValueError("It fails below.")


judge = LlmAgent(
    name="judge", model="gemini-2.5-flash", input_schema=Question, output_schema=Verdict
)
writer = LlmAgent(name="writer", model="gemini-2.5-flash", tools=[write])
broken = LlmAgent(name="broken", model="gemini-2.5-flash", tools=[fail])
root_agent = LlmAgent(
    name="agent_tool_schema",
    model="gemini-2.5-flash",
    tools=[AgentTool(judge), AgentTool(writer, skip_summarization=True), AgentTool(broken)],
)
