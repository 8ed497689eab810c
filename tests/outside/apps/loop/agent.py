"""A loop that a tool ends, and one that ends by its limit."""

from google.adk.agents import LlmAgent, LoopAgent, SequentialAgent
from google.adk.tools.exit_loop_tool import exit_loop

bounded = LoopAgent(
    name="bounded",
    max_iterations=2,
    sub_agents=[LlmAgent(name="writer", model="gemini-2.5-flash", output_key="text")],
)
ended = LoopAgent(
    name="ended",
    max_iterations=5,
    sub_agents=[
        LlmAgent(name="draft", model="gemini-2.5-flash"),
        LlmAgent(name="critic", model="gemini-2.5-flash", tools=[exit_loop]),
        LlmAgent(name="never", model="gemini-2.5-flash"),
    ],
)
root_agent = SequentialAgent(name="loop", sub_agents=[bounded, ended])
