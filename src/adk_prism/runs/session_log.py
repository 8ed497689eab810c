"""The run log as readers see it, completed by what ADK's sessions hold.

Conversations that were deleted are not there, as long as they can be restored and after.

A session may hold more than the log: another server wrote to it, or retention removed its older runs.
What is missing is read from the session each time and never written, so that retention stays what it
says and a session that continues elsewhere is shown as it is. Such a run can be read like any other, in
every protocol and view; `adk/session_runs.py` says what is not known of it.

An invocation counts as recorded if the run that began it is in the log. A run of this server that
continued a run of a session names it, so that run ends where the other one begins. While a run's invocation
is not known yet, the session's newest one is taken for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import Struct, structs

from adk_prism.adk.apps import Apps, is_hidden
from adk_prism.adk.session_runs import SessionRunId, StoredEvents, session_run, stored_invocations
from adk_prism.errors import BadPosition, Gone, NotFound, RemoteFailed, Report
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import Entry, Origin, Record, RunEnded, RunId, pack
from adk_prism.log.run_state import unknown
from adk_prism.runs.chats import LearnedInvocations

# ---------------------------------------------------------------------------
# Conversations that a user has deleted: hidden at once, and removed when they can no longer be restored.
#
# A deletion is a note under a name of its own, beside the session's notes: those go with the
# session's last run, and a deletion must not be forgotten because retention came first.

UNDO = 15 * 60.0
"""Seconds for which a conversation can be restored: a slip is noticed within minutes."""

FRESH = 1.0
"""Seconds for which what was read counts. Only another process can have changed it meanwhile."""

_KIND = "deletion"
_MARK = "\0deleted"
"""No session id contains a NUL."""


class Deletions:
    """Knows which conversations are deleted."""

    def __init__(self, log: RunLog, clock: Callable[[], float] = time.time) -> None:
        self._log = log
        self._clock = clock
        self._known: Mapping[Origin, float] = {}
        self._read_at = -math.inf

    async def current(self) -> Mapping[Origin, float]:
        """Return the deleted sessions, and when they were deleted. Raise `LogError`."""
        if time.monotonic() - self._read_at > FRESH:
            await self._read()
        return self._known

    async def check(self, origin: Origin) -> None:
        """Raise `Gone` for a deleted session."""
        if origin in await self.current():
            raise deleted()

    async def delete(self, origin: Origin, by: str) -> float:
        """Delete a session; return until when it can be restored. A second time changes nothing."""
        await self._read()
        if origin not in self._known:
            await self._log.side.put(_marked(origin), _KIND, "", msgspec.json.encode({"by": by}))
            await self._read()
        return self._known.get(origin, self._clock()) + UNDO

    async def forget(self, origin: Origin) -> bool:
        """Forget a deletion, because it is undone or done; return whether there was one."""
        await self._read()
        was_deleted = origin in self._known
        await self._log.delete(_marked(origin))
        await self._read()
        return was_deleted

    async def due(self) -> list[Origin]:
        """Return the sessions that can no longer be restored."""
        await self._read()
        return [origin for origin, at in self._known.items() if at + UNDO <= self._clock()]

    async def _read(self) -> None:
        marks = await self._log.side.owners(_KIND)
        notes = await self._log.side.list(marks) if marks else {}
        self._known = {_plain(mark): notes[mark][0].time for mark in marks if mark in notes}
        self._read_at = time.monotonic()


def deleted() -> Gone:
    """Return the error of a conversation that was deleted."""
    return Gone("The conversation was deleted.")


def _marked(origin: Origin) -> Origin:
    return structs.replace(origin, session=origin.session + _MARK)


def _plain(marked: Origin) -> Origin:
    return structs.replace(marked, session=marked.session.removesuffix(_MARK))


# ---------------------------------------------------------------------------

Redact = Callable[[Record], Record]


@dataclass(eq=False)
class SessionLog:
    """Reads runs from the log, and those that it lacks from ADK's sessions."""

    log: RunLog
    apps: Apps
    redact: Redact
    report: Report
    deletions: Deletions

    def __post_init__(self) -> None:
        log = self.log
        # Everything but reading is the log's own.
        self.attach, self.open, self.close, self.probe = log.attach, log.open, log.close, log.probe
        self.append, self.commit, self.leave = log.append, log.commit, log.leave
        self.trim, self.delete, self.side = log.trim, log.delete, log.side
        self._learned = LearnedInvocations(log)

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; those of sessions only where one session is asked for.

        Raise `Gone` for a session that was deleted.
        """
        hidden = await self.deletions.current()
        if Origin(app=app, user=user, session=session) in hidden:
            raise deleted()
        found = await self.log.list(app=app, user=user, session=session, unended=unended)
        known = [
            each for each in found if each.origin not in hidden and not is_hidden(each.origin.app)
        ]
        if unended or not (app and user and session):
            return known
        known = [await self._learned.complete(summary) for summary in known]
        origin = Origin(app=app, user=user, session=session)
        missing = await self._missing(origin, known)
        if not missing:
            return known
        return sorted([*known, *missing], key=lambda summary: summary.started)

    async def _missing(self, origin: Origin, known: Sequence[RunSummary]) -> Iterable[RunSummary]:
        runs = {each.run for each in known}
        begun = {each.invocation for each in known if each.message in runs}
        unnamed = sum(not each.invocation and each.message == each.run for each in known)
        continued = [SessionRunId.decode(each.message) for each in known]
        lengths = {each.invocation: each.events for each in reversed(continued) if each}
        try:
            session = await self.apps.sessions(origin.app).get(origin)
        except (NotFound, RemoteFailed):  # A remote that cannot be used: the log is what is known.
            return []
        names = {event.invocation_id for event in session.events}
        if names - {""} <= begun and names != {""}:
            return []  # the usual case, and cheap
        found = []
        for invocation, events in stored_invocations(session).items():
            if invocation not in begun:
                length = lengths.get(invocation, len(events))
                name = SessionRunId(origin.app, origin.user, origin.session, invocation, length)
                found.append(_summary(name, self._entries(name, events)))
        return found[: max(0, len(found) - unnamed)]

    async def summary(self, run: RunId) -> RunSummary:
        """Return one run's summary; raise `NotFound` or `Gone`."""
        name = SessionRunId.decode(run)
        if name is None:
            found = await self._learned.complete(await self.log.summary(run))
        else:
            found = _summary(name, await self._read(name))
        if is_hidden(found.origin.app):
            raise unknown(run)
        await self.deletions.check(found.origin)
        return found

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Give entries past `after`; a session's run is over, so following it ends."""
        name = SessionRunId.decode(run)
        return self._recorded(run, after, follow) if name is None else self._past(name, after)

    async def _recorded(
        self, run: RunId, after: int, follow: bool
    ) -> AsyncGenerator[Sequence[Entry], None]:
        hidden = await self.deletions.current()
        if hidden and (await self.log.summary(run)).origin in hidden:
            raise deleted()
        async with aclosing(self.log.read(run, after, follow=follow)) as batches:
            async for batch in batches:
                yield batch

    async def _past(self, name: SessionRunId, after: int) -> AsyncGenerator[Sequence[Entry], None]:
        await self.deletions.check(name.origin)
        entries = await self._read(name)
        if after > len(entries):
            raise BadPosition(f"The run has {len(entries)} entries; {after} is past its end.")
        if after < len(entries):
            yield entries[after:]

    async def _read(self, name: SessionRunId) -> Sequence[Entry]:
        session = await self.apps.sessions(name.app).get(name.origin)
        events = stored_invocations(session).get(name.invocation, [])
        if not 0 < name.events <= len(events):
            raise NotFound("There is no such run in that session (any more).")
        return self._entries(name, events)

    def _entries(self, name: SessionRunId, events: StoredEvents) -> Sequence[Entry]:
        entries = session_run(name, events, self.report)
        return [Entry(each.cursor, each.time, self.redact(each.record)) for each in entries]


def _summary(name: SessionRunId, entries: Sequence[Entry]) -> RunSummary:
    ended = entries[-1].record
    assert isinstance(ended, RunEnded), "a run of a session is over"
    run = name.encode()
    return RunSummary(
        run=run,
        origin=name.origin,
        invocation=name.invocation,
        started=entries[0].time,
        ended=entries[-1].time,
        outcome=ended.outcome,
        cursor=len(entries),
        bytes=sum(len(pack(entry.record)[1]) for entry in entries),
        message=run,
    )


# ---------------------------------------------------------------------------
# The actions of people on runs and conversations that belong in an audit log.
#
# This module names the actions; the server knows who does them, and writes the log.

Action = Literal[
    "approval given",
    "approval denied",
    "run cancelled",
    "run forked",
    "run repeated",
    "message taken back",
    "session rewound",
    "session deleted",
    "session restored",
    "artifact deleted",
    "link made",
    "link revoked",
    "run removed",
]


class AuditedAction(Struct, frozen=True, kw_only=True):
    """An action that was done."""

    action: Action
    origin: Origin
    """The session that it was done to."""
    run: str = ""
    about: str = ""
    """What exactly: the approval, the link, the new session, the name of the artifact."""


WriteAudit = Callable[[AuditedAction], Awaitable[None]]
"""Writes an action to the audit log; returns once it is written."""


async def no_audit(action: AuditedAction) -> None:
    """Write nothing: where there is no audit log."""
    del action
