"""A tool that needs a person's approval, given and denied."""

from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool


def delete(name: str) -> dict[str, str]:
    """Delete something."""
    return {"deleted": name}


root_agent = LlmAgent(
    name="confirmation",
    model="gemini-2.5-flash",
    tools=[FunctionTool(delete, require_confirmation=True)],
)
