"""Files in the message, which go to the model."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="files", model="gemini-2.5-flash")
