"""Tools that say that they failed, and one that is called wrongly."""

from google.adk.agents import LlmAgent


def refuse(order: int) -> dict[str, object]:
    """Say that it failed."""
    return {"error": f"There is no order {order}.", "code": 404}


def status(order: int) -> dict[str, object]:
    """Say that it failed in the other usual way."""
    return {"status": "error", "error_message": "No such order."}


root_agent = LlmAgent(
    name="error_result",
    model="gemini-2.5-flash",
    tools=[refuse, status],
)
