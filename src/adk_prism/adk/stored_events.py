"""Events that an ADK session has and the log does not, and events that come from elsewhere.

To take over the run of a dead process: ADK stores an event before the log has it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

from google.adk.events.event import Event
from google.adk.sessions.session import Session

from adk_prism.adk import session_store
from adk_prism.adk.internals.log_lines import is_restored, mark_restored
from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import RemoteFailed, Report
from adk_prism.log import entry as records

T = TypeVar("T")


class Stored(NamedTuple):
    """What a session knows of a run."""

    is_asked: bool
    """The message, or the answers, that began the run are stored."""
    missing: list[records.AgentEvent]
    """The run's events that are not in the log, in order."""
    last: Event | None = None
    """The run's last event, if that is stored and not the user's."""
    answered: frozenset[str] = frozenset()
    """The calls of the session that the user has answered."""
    is_passed: bool = False
    """The user has said something else since, in another invocation."""


async def stored_events(
    sessions: Sessions,
    origin: records.Origin,
    invocation: str,
    *,
    since: float,
    known: Collection[str],
    report: Report,
    run: str,
) -> Stored:
    """Return what a session has of a run and the log does not: to take over the run of a dead process.

    ADK stores an event before it yields it, and the user's message before anything else. `since` is when the
    run began, `known` the ids of the events that the log has. Without an `invocation`, it is the newest one.
    Raise `NotFound` if the session is gone.
    """
    serialiser = Serialiser(report, run=run, app=origin.app)
    asked, missing, last = False, [], None
    has_begun = is_passed = False
    events = session_store.live_events(await sessions.get(origin))
    invocation = invocation or _newest_invocation(events, since, known)
    for event in events:
        if event.invocation_id != invocation:
            is_passed = is_passed or (
                has_begun and session_store.is_message(event) and not session_store.is_copy(event)
            )
            continue
        has_begun, is_passed = True, False
        if event.author == session_store.USER:
            asked, last = asked or event.timestamp >= since, None
            continue
        last = event
        if (
            event.id not in known
            and not session_store.is_copy(event)
            and event.actions.compaction is None
        ):
            missing.append(records.AgentEvent(serialiser.event(event)))
    return Stored(asked, missing, last, session_store.user_responses(events), is_passed)


CLOCK_SKEW = 60.0
"""Seconds by which the clocks of two servers may differ."""


def _newest_invocation(events: Sequence[Event], since: float, known: Collection[str]) -> str:
    """Return the last invocation of a session if it began at a time, by the writer's clock, or after.

    Empty if it did not, or if one of its events is `known`: then it is that of an earlier run.
    """
    last = events[-1].invocation_id if events else ""
    own = [event for event in events if event.invocation_id == last]
    is_new = bool(own) and own[0].timestamp >= since - CLOCK_SKEW
    return last if is_new and not any(event.id in known for event in own) else ""


# --------------------------------------------------------------------------- sessions on other servers

RECOVERY = 30.0
"""Seconds in which a server that was lost in the middle of a run may come back: a restart takes ten."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 4.0
"""Seconds between two attempts."""


async def until_back(
    ask: Callable[[], Awaitable[T]],
    seconds: float = RECOVERY,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
) -> T:
    """Return what the remote answers. Raise `RemoteFailed` if it is not back in time, or not wanted."""
    until, pause = time.monotonic() + seconds, FIRST_PAUSE
    while True:
        try:
            return await ask()
        except RemoteFailed:
            if time.monotonic() + pause > until or not is_wanted():
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


# --------------------------------------------------------------------------- events from elsewhere
#
# ADK's own mark for restored events distinguishes events that this server did not record from those that ran
# here; callers can neither set nor remove it. No invocation with such an event is resumed.

HANDLES: Mapping[str, None] = dict.fromkeys((
    "cache_metadata", "interaction_id", "environment_id", "live_session_id",
    "live_session_resumption_update", "isolation_scope",
))  # fmt: skip
"""Fields by which a later run would look up something at the provider, or be sent to another agent."""


def as_client_event(event: Event) -> Event:
    """Return an event that a client gives a new session, marked and without handles."""
    return mark_restored(event.model_copy(update=dict(HANDLES)))


def restored_invocations(session: Session) -> frozenset[str]:
    """Return the invocations that were restored, in whole or in part."""
    return frozenset(event.invocation_id for event in session.events if is_restored(event))
