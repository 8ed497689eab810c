"""The echo with a plugin that is called for each event: its sound cannot go past ADK's flow."""

from __future__ import annotations

from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin

from benchmarks.agents.echo.agent import echo_agent


class Observer(BasePlugin):
    """Sees each event, and says nothing."""

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """See it."""


app = App(name="observed", root_agent=echo_agent(), plugins=[Observer(name="observer")])
