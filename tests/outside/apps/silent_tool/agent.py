"""A tool whose result the model does not sum up."""

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext


def silent(tool_context: ToolContext) -> dict[str, str]:
    """Answer for the model too."""
    tool_context.actions.skip_summarization = True
    return {"result": "nothing more to say"}


root_agent = LlmAgent(
    name="silent_tool",
    model="gemini-2.5-flash",
    tools=[silent],
)
