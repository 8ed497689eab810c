"""A sub-agent that takes the conversation over."""

from google.adk.agents import LlmAgent


def look(place: str) -> dict[str, str]:
    """Look somewhere."""
    return {"seen": place}


guide = LlmAgent(name="guide", model="gemini-2.5-flash", description="Guides.", tools=[look])
other = LlmAgent(name="other", model="gemini-2.5-flash", description="Does the rest.")
root_agent = LlmAgent(name="transfer", model="gemini-2.5-flash", sub_agents=[guide, other])
