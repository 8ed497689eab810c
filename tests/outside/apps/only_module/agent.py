"""An app without a package."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="only_module", model="gemini-2.5-flash")
