"""Queries over a session's events: which ones were rewound, which are copies, where a call was made."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.events.event import Event
from google.adk.sessions.session import Session

USER = "user"

COPY = "copy-"
"""How the id of an event begins that was rewound and brought back (`undo_rewind`)."""


def is_copy(event: Event) -> bool:
    """Return whether an event is a copy: the log has the original."""
    return event.id.startswith(COPY)


def live_events(session: Session) -> list[Event]:
    """Return the events without rewound ones."""
    return apply_rewinds(session.events)


def apply_rewinds(events: Sequence[Event]) -> list[Event]:
    """Return the events without rewound ones, and without the rewinds themselves.

    A rewind removes everything from the first event of the invocation that it names. The last
    rewind counts first: it may remove an earlier one.
    """
    if not any(event.actions.rewind_before_invocation_id for event in events):
        return list(events)
    first = {event.invocation_id: i for i, event in reversed(list(enumerate(events)))}
    live: list[Event] = []
    end = len(events)
    while end:
        end -= 1
        target = events[end].actions.rewind_before_invocation_id
        if not target:
            live.append(events[end])
        else:
            end = min(end, first.get(target, end))
    return live[::-1]


def first_live(events: Sequence[Event], invocations: Sequence[str]) -> str:
    """Return the first of some invocations that has an event that was not rewound; empty if none has."""
    live = {event.invocation_id for event in apply_rewinds(events)}
    return next((each for each in invocations if each in live), "")


def find_call(events: Sequence[Event], call: str) -> Event | None:
    """Return the last event that made this call."""
    for event in reversed(events):
        if any(made.id == call for made in event.get_function_calls()):
            return event
    return None


def user_responses(events: Sequence[Event]) -> frozenset[str]:
    """Return the ids of the calls that the user, or the user's client, has answered."""
    answered = (
        response.id
        for event in events
        if event.author == USER
        for response in event.get_function_responses()
    )
    return frozenset(call for call in answered if call)


def user_turns(events: Sequence[Event], invocation: str) -> int:
    """Count the messages that a user typed in an invocation; answers to calls are not messages."""
    return sum(
        event.invocation_id == invocation
        and event.author == "user"
        and event.content is not None
        and not event.get_function_responses()
        for event in events
    )
