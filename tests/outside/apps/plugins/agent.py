"""An App with a plugin that changes what comes and goes."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins import BasePlugin
from google.genai import types


# ruff: noqa: ARG002 ADK passes arguments by name.
class Marking(BasePlugin):
    """Mark messages and events."""

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Add a part to the message."""
        return types.UserContent([*(user_message.parts or []), types.Part(text="(marked)")])

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Mark an event."""
        return event.model_copy(update={"custom_metadata": {"seen": "by a plugin"}})

    async def after_tool_callback(self, *, result: dict[str, Any], **others: Any) -> Any:
        """Add to a tool's result."""
        return {**result, "marked": True}


def look(place: str) -> dict[str, str]:
    """Look somewhere."""
    return {"seen": place}


app = App(
    name="plugins",
    root_agent=LlmAgent(name="root", model="gemini-2.5-flash", tools=[look]),
    plugins=[Marking(name="marking")],
)
