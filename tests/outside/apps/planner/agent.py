"""A planner that asks for thoughts, and one that plans in the text."""

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.planners import BuiltInPlanner, PlanReActPlanner
from google.genai import types

thinking = BuiltInPlanner(thinking_config=types.ThinkingConfig(include_thoughts=True))
root_agent = SequentialAgent(
    name="planner",
    sub_agents=[
        LlmAgent(name="thinker", model="gemini-2.5-flash", planner=thinking),
        LlmAgent(name="reactor", model="gemini-2.5-flash", planner=PlanReActPlanner()),
    ],
)
