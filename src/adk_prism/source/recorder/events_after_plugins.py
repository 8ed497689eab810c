"""Events as the client of a Runner gets them: after every plugin had its say.

A plugin's own callback is not called for an event that another plugin has replaced before, and does not see
what a later one makes of it. So the call of all plugins is observed. The rules by which google-adk 2.13
completes a replaced event (`Runner._get_output_event`, `_consume_event_queue`) are repeated here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.plugins.plugin_manager import PluginManager

_KEPT = frozenset({"id", "invocation_id", "timestamp"})
"""Fields of an event that a plugin cannot replace."""

See = Callable[[InvocationContext, Event, Event | None], Awaitable[None]]
"""Takes an event that is about to be yielded, and what a plugin has put in its place. It must not raise."""


def observe_events(manager: PluginManager, see: See) -> None:
    """Call a function with every event that passes a plugin manager, once its plugins have been called."""
    call = manager.run_on_event_callback

    async def observed(*, invocation_context: InvocationContext, event: Event) -> Event | None:
        replaced = await call(invocation_context=invocation_context, event=event)
        await see(invocation_context, event, replaced)
        return replaced

    manager.run_on_event_callback = observed  # type: ignore[method-assign] # of this object only


def final_event(context: InvocationContext, event: Event, replaced: Event | None) -> Event:
    """Return the event that the Runner stores and yields."""
    if replaced is not None:
        given = {name: getattr(replaced, name) for name in replaced.model_fields_set - _KEPT}
        config = context.run_config
        if "custom_metadata" in given and config is not None and config.custom_metadata:
            given["custom_metadata"] = config.custom_metadata | (given["custom_metadata"] or {})
        given["author"] = given.get("author") or event.author
        event = event.model_copy(update=given)
    if event.node_info.message_as_output and event.content is not None and not event.partial:
        event = event.model_copy(update={"output": None})
    return event
