"""Agents side by side."""

from google.adk.agents import LlmAgent, ParallelAgent


def look(place: str) -> dict[str, str]:
    """Look somewhere."""
    return {"seen": place}


root_agent = ParallelAgent(
    name="parallel_agents",
    sub_agents=[
        LlmAgent(name="left", model="gemini-2.5-flash", output_key="left", tools=[look]),
        LlmAgent(name="right", model="gemini-2.5-flash", output_key="right"),
    ],
)
