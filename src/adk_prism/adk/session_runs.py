"""Runs read from an ADK session: what the session stored, as the records that a run log would hold.

For sessions that another server wrote (`adk api_server`, a script) and for runs that retention removed
from the log. One invocation is one run. ADK stores whole events only: streamed fragments, the moments at
which nodes began and ended, and the children of an `AgentTool` are not known, so the run is marked
`derived`, as one that is read from a capture.

The id of such a run names its session, its invocation and how many of its events it holds. It can be
read again from the id alone, in any process, and a run that has grown since is another run.
"""

from __future__ import annotations

import asyncio
import binascii
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from msgspec import Raw, Struct

from adk_prism.adk import session_store
from adk_prism.adk.internals.log_lines import is_restored, mark_restored
from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import RemoteFailed, Report
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.log import entry as records

T = TypeVar("T")

PREFIX = "session-"

_read_fields = msgspec.json.Decoder(dict[str, Raw]).decode

StoredEvents = Sequence[Event]
"""The events of one invocation, in the order in which they are stored."""


class SessionRunId(Struct, frozen=True, array_like=True):
    """The contents of such a run's id."""

    app: str
    user: str
    session: str
    invocation: str
    events: int

    @property
    def origin(self) -> records.Origin:
        """Where the run belongs."""
        return records.Origin(app=self.app, user=self.user, session=self.session)

    def encode(self) -> records.RunId:
        """Return the id."""
        packed = urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")
        return records.RunId(PREFIX + packed)

    @classmethod
    def decode(cls, run: str) -> SessionRunId | None:
        """Read an id; None if it is another run's."""
        if not run.startswith(PREFIX):
            return None
        packed = run.removeprefix(PREFIX)
        try:
            data = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            return msgspec.json.decode(data, type=cls)
        except (binascii.Error, msgspec.MsgspecError, UnicodeDecodeError, ValueError):
            return None


def stored_invocations(session: Session) -> dict[str, StoredEvents]:
    """Return the session's events by invocation, oldest first, without what a rewind took back.

    Only invocations with content, output or an error: a change of state is not a run. An event without an
    invocation, as ADK stores those of agents that do not name it, belongs to the one before it.
    """
    found: dict[str, list[Event]] = {}
    last = ""
    for event in session_store.live_events(session):
        if event.actions.compaction is None:
            last = event.invocation_id or last
            found.setdefault(last, []).append(event)
    return {
        name: events for name, events in found.items() if any(map(session_store.is_said, events))
    }


def session_run(run: SessionRunId, events: Sequence[Event], report: Report) -> list[records.Entry]:
    """Return the entries of an invocation's first `run.events` events, its end included."""
    return list(_with_end(_entries(run, events[: run.events], report)))


def _entries(run: SessionRunId, events: Sequence[Event], report: Report) -> Iterator[records.Entry]:
    name = run.encode()
    serialiser = Serialiser(report, run=name, app=run.app)
    begins = session_store.is_message(events[0])
    first = _read_fields(serialiser.event(events[0])) if begins else {}
    head = records.RunStarted(
        run=name,
        origin=run.origin,
        invocation=run.invocation,
        message=first.get("content", records.NOTHING),
        message_id=events[0].id if begins else "",
        labels=records.labels(
            records.DERIVED(True), records.FOREIGN(any(map(is_restored, events)))
        ),
    )
    yield records.Entry(1, events[0].timestamp, head)
    for cursor, event in enumerate(events[1 if begins else 0 :], 2):
        yield records.Entry(cursor, event.timestamp, records.AgentEvent(serialiser.event(event)))


def _with_end(entries: Iterator[records.Entry]) -> Iterator[records.Entry]:
    ending = CaptureEnding()
    last = None
    for last in entries:
        ending.feed(last)
        yield last
    assert last is not None, "an invocation has events"
    yield records.Entry(last.cursor + 1, last.time, ending.ended())


# ---------------------------------------------------------------------- events that the log does not have


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
