"""State of all scopes, written by a tool and by the request."""

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext


def remember(tool_context: ToolContext) -> dict[str, object]:
    """Write state."""
    tool_context.state["plain"] = {"deep": [1, None, "ä"]}
    tool_context.state["user:name"] = "Ada"
    tool_context.state["app:visits"] = tool_context.state.get("app:visits", 0) + 1
    tool_context.state["temp:scratch"] = "gone"
    return {"visits": tool_context.state["app:visits"], "from": tool_context.state.get("given")}


root_agent = LlmAgent(
    name="state_scopes",
    model="gemini-2.5-flash",
    tools=[remember],
)
