"""Answers that end for another reason than that they are complete."""

from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="cut_answers", model="gemini-2.5-flash")
