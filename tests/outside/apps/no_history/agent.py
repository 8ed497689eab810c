"""An agent that is not given the history."""

from google.adk.agents import LlmAgent


def look(place: str) -> dict[str, str]:
    """Look somewhere."""
    return {"seen": place}


root_agent = LlmAgent(
    name="no_history", model="gemini-2.5-flash", include_contents="none", tools=[look]
)
