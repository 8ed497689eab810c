"""The provider refuses: the run fails, and the next one works."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="refused_by_provider", model="gemini-2.5-flash")
