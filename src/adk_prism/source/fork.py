"""The history of a session up to a moment, and a new session that begins with it.

ADK has no fork. A copy in which a Runner continues as in the original (tested on ADK's in-memory, SQLite
and database services) follows these rules:
- **ids and times stay**, of events, invocations and calls. Rewinds, approvals and resuming depend on them,
  and the services store events per session;
- **shared state is not copied**: an appended event writes its `user:` and `app:` changes for every session,
  so the copies leave them out. The fork sees the current values;
- **initial state is an event**, the first one, so that a rewind in the fork keeps it;
- **rewound turns are left out**;
- **order of the log**: a persistent service reloads events by their times, which parallel agents mix up;
  the last writer of a key is the one that wrote last.

The original session is only read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.session import Session
from msgspec import Raw, Struct

from adk_prism.runlog.entry import Origin
from adk_prism.source.agents import root_kind
from adk_prism.source.history import apply_rewinds, is_copy
from adk_prism.source.sessions import SHARED, Sessions, new_state_event, recorded_state

EARLIER = 0.001
"""Seconds by which a generated event precedes the first real one."""


class Past(Struct, frozen=True, kw_only=True):
    """Where a session is cut, according to the logs of its runs."""

    invocation: str
    """Of the run that is cut."""
    places: Mapping[str, int]
    """Events up to the cut, by id: their order."""
    later: frozenset[str]
    """Events of the cut run that come after."""
    started: float
    """When the cut run began."""
    until: float
    """When the cut was."""
    said_before: float
    """Messages and answers of the cut run's invocation count that are older than this."""
    state: Mapping[str, Raw]
    """The state before the cut run, as it was recorded."""


class Cuttings(Struct, frozen=True):
    """What a new session is made of."""

    events: Sequence[Event]
    saved: Mapping[str, int]
    """Artifacts that had been saved: the highest version of each."""
    unsaved: Mapping[str, int]
    """Those that were saved only later: the lowest version of each."""


def cut_session(session: Session, past: Past) -> Cuttings | None:
    """Return the session as it was at the cut; None if it is not the session of the log."""
    if past.places and not any(event.id in past.places for event in session.events):
        return None
    before = [event for event in session.events if _was_there(event, past)]
    kept = {id(event) for event in before}
    after = [event for event in session.events if id(event) not in kept]
    live = _in_order(apply_rewinds(before), past.places)
    return Cuttings(
        [*_initial(session.state, past, live), *map(copied, live)],
        versions(before, highest=True),
        versions(after, highest=False),
    )


def _was_there(event: Event, past: Past) -> bool:
    if event.id in past.places:
        return True
    if event.id in past.later:
        return False
    if event.invocation_id == past.invocation and not is_copy(event):
        # Events that the log does not have are the user's: the message, answers to calls.
        limit = past.said_before if event.author == "user" else past.started
        return event.timestamp < limit
    return event.timestamp <= past.until


def _in_order(events: Sequence[Event], places: Mapping[str, int]) -> list[Event]:
    """Return the events: those of the log in its order, the others in their places."""
    logged = iter(sorted((e for e in events if e.id in places), key=lambda e: places[e.id]))
    return [next(logged) if event.id in places else event for event in events]


def _initial(state: Mapping[str, Any], past: Past, live: Sequence[Event]) -> list[Event]:
    """Return the event that holds the state which no event before the run had written."""
    written = {k for e in live if e.timestamp < past.started for k in e.actions.state_delta}
    recorded = {key: value for key, value in past.state.items() if key not in written}
    first = min((event.timestamp for event in live), default=past.started)
    return state_events(recorded_state(state, recorded), first - EARLIER)


def state_events(delta: Mapping[str, Any], time: float) -> list[Event]:
    """Return one event that sets state at a time, or none if there is nothing to set."""
    if not delta:
        return []
    return [new_state_event(delta).model_copy(update={"timestamp": time})]


def copied(event: Event) -> Event:
    """Return a copy that writes to its own session only."""
    copy = event.model_copy(deep=True)
    delta = copy.actions.state_delta
    copy.actions.state_delta = {k: v for k, v in delta.items() if not k.startswith(SHARED)}
    return copy


def without_state(events: Sequence[Event], keys: Collection[str]) -> list[Event]:
    """Return events that do not set some keys of the state: a session of them never had these."""
    for event in events:
        delta = event.actions.state_delta
        event.actions.state_delta = {k: v for k, v in delta.items() if k not in keys}
    return list(events)


def versions(events: Sequence[Event], *, highest: bool) -> dict[str, int]:
    """Return the highest or lowest version of each artifact that events saved."""
    found: dict[str, int] = {}
    for event in events:
        for name, version in event.actions.artifact_delta.items():
            known = found.get(name, version)
            found[name] = max(known, version) if highest else min(known, version)
    return found


async def plant(runner: Runner, origin: Origin, events: Sequence[Event]) -> None:
    """Create a session from events. Raise `Conflict` if it exists, and leave that one as it is.

    If anything else is raised, no session remains.
    """
    sessions = Sessions(runner.session_service)
    session = await sessions.create(origin)
    try:
        for event in events:
            await runner.session_service.append_event(session, event)
    except BaseException:
        await sessions.delete(origin)
        raise


def resumable_past(runner: Runner, events: Sequence[Event]) -> list[Event]:
    """Return events after which ADK continues where they end.

    A workflow treats a node whose last event is an unanswered call as done. So the call is left out, except
    for the state that came with it, and the node asks its model again. Other roots handle it: a resumable
    one runs the call, any other asks its model again.
    """
    if root_kind(runner.agent) != "workflow":
        return list(events)
    answered = {answer.id for event in events for answer in event.get_function_responses()}
    past: list[Event] = []
    for event in events:
        if _is_settled(event, answered):
            past.append(event)
        else:
            past += state_events(event.actions.state_delta, event.timestamp)
    return past


def _is_settled(event: Event, answered: set[str | None]) -> bool:
    waits = event.long_running_tool_ids or set()
    return all(call.id in answered or call.id in waits for call in event.get_function_calls())
