"""One agent after the other, with the first one's answer in the state."""

from google.adk.agents import LlmAgent, SequentialAgent

first = LlmAgent(name="first", model="gemini-2.5-flash", output_key="draft")
second = LlmAgent(name="second", model="gemini-2.5-flash", instruction="Improve: {draft}")
root_agent = SequentialAgent(name="sequential", sub_agents=[first, second])
