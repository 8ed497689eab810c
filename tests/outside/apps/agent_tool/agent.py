"""An agent as a tool of another."""

from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool


def note(text: str) -> dict[str, str]:
    """Note something."""
    return {"noted": text}


expert = LlmAgent(name="expert", model="gemini-2.5-flash", description="Knows it.", tools=[note])
root_agent = LlmAgent(name="agent_tool", model="gemini-2.5-flash", tools=[AgentTool(expert)])
