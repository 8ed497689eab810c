"""Every callback, each of which only writes state."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext


def noting(name: str) -> Any:
    """Return a callback that counts its calls."""

    def note(*args: Any, **kwargs: Any) -> None:
        given = [*args, *kwargs.values()]
        context = next(each for each in given if isinstance(each, CallbackContext))
        context.state[name] = context.state.get(name, 0) + 1

    return note


def look(place: str) -> dict[str, str]:
    """Look somewhere."""
    return {"seen": place}


root_agent = LlmAgent(
    name="callbacks",
    model="gemini-2.5-flash",
    tools=[look],
    before_agent_callback=noting("before_agent"),
    after_agent_callback=noting("after_agent"),
    before_model_callback=noting("before_model"),
    after_model_callback=noting("after_model"),
    before_tool_callback=noting("before_tool"),
    after_tool_callback=noting("after_tool"),
)
