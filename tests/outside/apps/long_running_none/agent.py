"""A long-running tool that returns nothing at first."""

from google.adk.agents import LlmAgent
from google.adk.tools import LongRunningFunctionTool


def ask_boss(amount: float) -> None:
    """Ask somebody."""


root_agent = LlmAgent(
    name="long_running_none",
    model="gemini-2.5-flash",
    tools=[LongRunningFunctionTool(ask_boss)],
)
