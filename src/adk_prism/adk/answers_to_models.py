"""Give the model the reason for a denied tool call.

ADK answers a denied call with a fixed text (`tools/_confirmation_utils.py`). What the person wrote stays
in the confirmation's payload, which only the tool could read, and it does not run. This plugin answers
instead of the tool, with ADK's text followed by the reason. It acts only for tools that ADK itself gates
(`require_confirmation`): a tool that asks by itself reads its own payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from adk_prism.facts.adk_event import APPENDED as MARK
from adk_prism.log.entry import Origin

REASON = "reason"
"""Key of the confirmation's payload that holds the person's words."""


class DenialReasonPlugin(BasePlugin):
    """Gives the model the reason of a denial."""

    def __init__(self, name: str = "adk_prism_denial") -> None:
        super().__init__(name=name)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Answer a denied call that comes with a reason; let every other call pass."""
        confirmation = tool_context.tool_confirmation
        if confirmation is None or confirmation.confirmed:
            return None
        payload = confirmation.payload
        reason = payload.get(REASON) if isinstance(payload, Mapping) else None
        if not isinstance(reason, str) or not reason:
            return None
        if not await tool.check_require_confirmation(tool_args, tool_context):
            return None
        return {"error": f"This tool call is rejected. Reason: {reason}"}


# ---------------------------------------------------------------------------
# Events that agent code appends to its session itself, through the session service: they are in the log
# too.
#
# A Runner stores an event and then yields it. What a tool or a callback stores
# (`session_service.append_event`) is never yielded, and the model reads it all the same. So what is
# stored in the session of a run is noted (`session_store`), and what the Runner has not yielded by
# its next event is recorded before that one.
#
# Seen is what goes through the service that ADK gives to the agent. A service that agent code creates
# for itself is not: most of ADK's services let the run fail then, because its session has changed.


class AppendedEvents:
    """What was stored in the session of one run, and not yielded yet."""

    def __init__(self, origin: Origin, compacted: Callable[[Event], None]) -> None:
        """`compacted` is called with the summaries that ADK stores of earlier events."""
        self._compacted = compacted
        self._key = (origin.app, origin.user, origin.session)
        self._pending: dict[str, Event] = {}
        self._recorded: set[str] = set()
        """Ids of those that were recorded although nobody had yielded them."""
        self.has_begun = False
        """The Runner has stored the user's message: what it stores from now on, it yields."""

    def note(self, session: Session, event: Event) -> None:
        """Note an event that was stored."""
        if not self.has_begun or (session.app_name, session.user_id, session.id) != self._key:
            return
        if event.actions.compaction is not None:
            self._compacted(event)
        else:
            self._pending[event.id] = event

    def take(self, yielded: Event | None) -> list[Event]:
        """Return what was stored before an event that the Runner yields, or its end, and never yielded.

        It is marked: ADK's own protocol does not have such events.
        """
        if yielded is not None:
            self._pending.pop(yielded.id, None)
        found = list(self._pending.values())
        self._pending.clear()
        self._recorded.update(event.id for event in found)
        return [_marked(event) for event in found]

    def is_recorded(self, event: Event) -> bool:
        """Return whether an event that is yielded has been recorded before."""
        return event.id in self._recorded


def _marked(event: Event) -> Event:
    metadata = {**(event.custom_metadata or {}), MARK: True}
    return event.model_copy(update={"custom_metadata": metadata})


APPENDED: ContextVar[AppendedEvents | None] = ContextVar("adk_prism_appended", default=None)
"""Of the run that is driven: set where its Runner takes a step, and in all that it starts."""
