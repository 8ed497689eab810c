"""A tool that is finished later, with several updates."""

from google.adk.agents import LlmAgent
from google.adk.tools import LongRunningFunctionTool


def order(pages: int) -> dict[str, object]:
    """Order a print."""
    return {"status": "pending", "ticket": "print-1", "pages": pages}


root_agent = LlmAgent(
    name="long_running",
    model="gemini-2.5-flash",
    tools=[LongRunningFunctionTool(order)],
)
