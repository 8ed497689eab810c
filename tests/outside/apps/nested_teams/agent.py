"""Agents side by side inside a sequence, and one that joins their answers."""

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent

both = ParallelAgent(
    name="both",
    sub_agents=[
        LlmAgent(name="one", model="gemini-2.5-flash", output_key="one"),
        LlmAgent(name="two", model="gemini-2.5-flash", output_key="two"),
    ],
)
closing = LlmAgent(
    name="closing",
    model="gemini-2.5-flash",
    include_contents="none",
    instruction="Join {one} and {two}.",
)
root_agent = SequentialAgent(name="nested_teams", sub_agents=[both, closing])
