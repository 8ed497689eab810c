"""Events that a client gives a new session: which are accepted.

Follows google-adk 2.13 `cli/api_server.py` (`_validate_session_initialization_events`): a
conversation, tool calls included, may be restored, but not an event that claims what only ADK
decides (actions, long-running calls, ADK's own questions to a person). Beyond ADK, what a session
database could not store is refused instead of failing there: a time outside the calendar, an id
that is too long or is there twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from adk_prism.errors import UsageError
from adk_prism.facts.adk_event import REQUESTS

EARLIEST, LATEST = 0.0, 253_370_764_800.0
"""Seconds: from 1970 to the first day of 9999, in any time zone a date that Python can hold."""

LONGEST_EVENT_ID = 128
LONGEST_INVOCATION = 256
"""Characters: ADK's columns (sessions/schemas/shared.py)."""


def check_events(events: Sequence[Event]) -> None:
    """Raise `UsageError`, naming the event, for one that is refused."""
    seen: set[str] = set()
    for index, event in enumerate(events):
        wrong = _claims(event) or _unstorable(event, seen)
        if wrong:
            raise UsageError(f"Session initialization event {index} cannot include {wrong}.")
        seen.add(event.id)


def _claims(event: Event) -> str:
    if event.long_running_tool_ids:
        return "long-running tool IDs"
    if event.actions != EventActions():
        return "event actions"
    names = {call.name for call in event.get_function_calls()}
    names |= {response.name for response in event.get_function_responses()}
    if not REQUESTS.isdisjoint(names):
        return "ADK protocol function calls"
    return ""


def _unstorable(event: Event, seen: set[str]) -> str:
    if not EARLIEST <= event.timestamp <= LATEST:
        return "a timestamp outside the years 1970 to 9998"
    if len(event.id) > LONGEST_EVENT_ID or len(event.invocation_id) > LONGEST_INVOCATION:
        return "an id that is too long"
    return "the id of another event" if event.id and event.id in seen else ""
