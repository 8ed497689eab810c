"""An app whose root is no LlmAgent."""

from google.adk.agents import LlmAgent
from google.adk.workflow import START, Workflow

step = LlmAgent(name="step", model="offline")
root_agent = Workflow(name="flow", description="Steps", edges=[(START, step)])
