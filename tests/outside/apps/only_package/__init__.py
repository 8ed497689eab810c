"""An app that is a package without a module `agent`."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="only_package", model="gemini-2.5-flash")
