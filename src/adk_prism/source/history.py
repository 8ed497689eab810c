"""What a session's events say: which still count, who waits, where a call was made.

The rules are ADK's own (google-adk 2.13 `events/_rewind_events.py` and `runners.py`); its helpers
are private, so they are named here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.events.event import Event
from google.adk.sessions.session import Session

try:
    from google.adk.events._rewind_events import _apply_rewinds
    from google.adk.runners import _find_active_task_scope
except ImportError as error:  # pragma: no cover - only with another google-adk
    raise ImportError(
        "The installed google-adk has moved _apply_rewinds or _find_active_task_scope. "
        "Install the version that adk-prism pins, or adapt adk_prism/source/history.py."
    ) from error


def live_events(session: Session) -> list[Event]:
    """Return the events that no rewind has taken back."""
    return apply_rewinds(session.events)


def apply_rewinds(events: Sequence[Event]) -> list[Event]:
    """Return the events that none among them has taken back."""
    return _apply_rewinds(list(events))


def paused_task_invocation(session: Session) -> str:
    """Return the invocation of a task agent that waits for the user's reply; empty if none does."""
    scope = _find_active_task_scope(session)
    return scope[1] if scope else ""


def find_call(events: Sequence[Event], call: str) -> Event | None:
    """Return the last event that made this call."""
    for event in reversed(events):
        if any(made.id == call for made in event.get_function_calls()):
            return event
    return None


def user_turns(events: Sequence[Event], invocation: str) -> int:
    """Count the messages that a user typed in an invocation; answers to calls are not messages."""
    return sum(
        event.invocation_id == invocation
        and event.author == "user"
        and event.content is not None
        and not event.get_function_responses()
        for event in events
    )
