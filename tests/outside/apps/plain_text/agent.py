"""A model and nothing else, with every special answer that a model gives."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="plain_text", model="gemini-2.5-flash")
