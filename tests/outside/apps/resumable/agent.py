"""A resumable App that waits for a long-running tool below a sequence."""

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.tools import LongRunningFunctionTool


def order(pages: int) -> dict[str, object]:
    """Order a print."""
    return {"status": "pending", "pages": pages}


first = LlmAgent(name="first", model="gemini-2.5-flash", tools=[LongRunningFunctionTool(order)])
second = LlmAgent(name="second", model="gemini-2.5-flash")
app = App(
    name="resumable",
    root_agent=SequentialAgent(name="steps", sub_agents=[first, second]),
    resumability_config=ResumabilityConfig(is_resumable=True),
)
