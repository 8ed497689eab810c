"""An approval that is needed for some arguments only."""

from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool


def pay(amount: int) -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


def is_much(amount: int) -> bool:
    """Tell whether a person has to approve."""
    return amount > 1


def is_too_much(amount: int) -> bool:
    """Tell whether a person has to approve."""
    return amount > 1000


def give(amount: int) -> dict[str, int]:
    """Give."""
    return {"given": amount}


root_agent = LlmAgent(
    name="confirmation_by_rule",
    model="gemini-2.5-flash",
    tools=[
        FunctionTool(pay, require_confirmation=is_much),
        FunctionTool(give, require_confirmation=is_too_much),
    ],
)
