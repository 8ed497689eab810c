"""An agent that names no model."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="default_model")
