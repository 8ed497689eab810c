"""Turns of an ADK session that are not in the log: each is shown as a run.

A session may hold more than the log: another server wrote to it (`adk api_server`, a script), or retention
removed its older runs. What is missing is read from the session each time and never written, so that
retention stays what it says and a session that continues elsewhere is shown as it is. Such a run can be read
like any other, in every protocol and view.

One invocation is one run. ADK stores whole events only: streamed fragments, the moments at which nodes began
and ended, and the children of an `AgentTool` are not known, so the run is marked `derived`, as one that is
read from a capture.

An invocation counts as recorded if the run that began it is in the log. A run of this server that
continued a run of a session names it, so that run ends where the other one begins. While a run's invocation
is not known yet, the session's newest one is taken for it.

The id of such a run names its session, its invocation and how many of its events it holds. It can be
read again from the id alone, in any process, and a run that has grown since is another run.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from msgspec import Raw, Struct

from adk_prism.adk import session_store
from adk_prism.adk.apps import Apps
from adk_prism.adk.internals.log_lines import is_restored
from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.secrets import Secrets
from adk_prism.errors import BadPosition, NotFound, RemoteFailed, Report
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.log import entry as records
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import Entry, Origin, RunEnded, RunId, pack
from adk_prism.runs.session_log import ReadableLog

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
        return records.RunId(records.SESSION_RUN + packed)

    @classmethod
    def decode(cls, run: str) -> SessionRunId | None:
        """Read an id; None if it is another run's."""
        if not run.startswith(records.SESSION_RUN):
            return None
        packed = run.removeprefix(records.SESSION_RUN)
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


# ---------------------------------------------------------------------------


@dataclass(eq=False)
class SessionLog(ReadableLog):
    """Reads runs from the log, and those that it lacks from ADK's sessions."""

    apps: Apps
    secrets: Secrets
    report: Report

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; those of sessions only where one session is asked for.

        Raise `Gone` for a session that was deleted.
        """
        known = await super().list(app=app, user=user, session=session, unended=unended)
        if unended or not (app and user and session):
            return known
        missing = await self._missing(Origin(app=app, user=user, session=session), known)
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
            return await super().summary(run)
        found = _summary(name, await self._read(name))
        await self.deletions.check(found.origin)
        return found

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Give entries past `after`; a session's run is over, so following it ends."""
        name = SessionRunId.decode(run)
        if name is None:
            return super().read(run, after, follow=follow)
        return self._past(name, after)

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
        return [Entry(each.cursor, each.time, self.secrets.record(each.record)) for each in entries]


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
