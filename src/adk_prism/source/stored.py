"""Events of an invocation that are in the session but not in the log: to take over the run of a dead process.

ADK stores an event before it yields it, and the user's message before anything else, so the session can
contain events that the log never got. If both have an event, that of the log is used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from adk_prism.diagnostics import Report
from adk_prism.runlog.entry import AgentEvent, Origin
from adk_prism.source.history import live_events
from adk_prism.source.redaction import Serialiser
from adk_prism.source.sessions import Sessions

USER = "user"


class Stored(NamedTuple):
    """What a session knows of a run."""

    is_asked: bool
    """The message, or the answers, that began the run are stored."""
    missing: list[AgentEvent]
    """The run's events that are not in the log, in order."""


async def stored_events(
    sessions: Sessions,
    origin: Origin,
    invocation: str,
    *,
    since: float,
    known: Collection[str],
    report: Report,
    run: str,
) -> Stored:
    """Read a session. `since` is when the run began, `known` the ids of the events that the log has.

    Raise `NotFound` for a session that is no longer there.
    """
    serialiser = Serialiser(report, run=run, app=origin.app)
    asked, missing = False, []
    for event in live_events(await sessions.get(origin)):
        if event.invocation_id != invocation:
            continue
        if event.author == USER:
            asked = asked or event.timestamp >= since
        elif event.id not in known and event.actions.compaction is None:
            missing.append(AgentEvent(serialiser.event(event)))
    return Stored(asked, missing)
