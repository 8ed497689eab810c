"""A tool that asks for an approval with details."""

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext


def time_off(days: int, tool_context: ToolContext) -> dict[str, object]:
    """Ask for days off."""
    given = tool_context.tool_confirmation
    if given is None:
        tool_context.request_confirmation(hint="How many days?", payload={"approved_days": 0})
        return {"status": "A manager has to approve."}
    if not given.confirmed:
        return {"status": "rejected"}
    return {"status": "ok", "asked": days, "approved": given.payload}


root_agent = LlmAgent(
    name="confirmation_payload",
    model="gemini-2.5-flash",
    tools=[time_off],
)
