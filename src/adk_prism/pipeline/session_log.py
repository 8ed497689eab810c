"""The run log as readers see it, completed by what ADK's sessions hold.

Conversations that were deleted are not there, as long as they can be restored and after.

A session may hold more than the log: another server wrote to it, or retention removed its older runs.
What is missing is read from the session each time and never written, so that retention stays what it
says and a session that continues elsewhere is shown as it is. Such a run can be read like any other, in
every protocol and view; `source/session_runs.py` says what is not known of it.

An invocation counts as recorded if the run that began it is in the log. A run of this server that
continued a run of a session names it, so that run ends where the other one begins. While a run's invocation
is not known yet, the session's newest one is taken for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing

from msgspec import structs

from adk_prism.diagnostics import Report
from adk_prism.errors import BadPosition, NotFound, RemoteFailed
from adk_prism.pipeline.deletions import Deletions, deleted
from adk_prism.pipeline.learned_invocations import LearnedInvocations
from adk_prism.runlog.contract import RunLog, RunSummary, SearchPage
from adk_prism.runlog.entry import Entry, Origin, Record, RunEnded, RunId, pack
from adk_prism.runlog.run_query import RunQuery
from adk_prism.source.apps import Apps
from adk_prism.source.session_runs import (
    SessionRunId,
    StoredEvents,
    session_run,
    stored_invocations,
)

Redact = Callable[[Record], Record]


class SessionLog:
    """Reads runs from the log, and those that it lacks from ADK's sessions."""

    def __init__(
        self,
        log: RunLog,
        apps: Apps,
        redact: Redact,
        report: Report,
        deletions: Deletions | None = None,
    ) -> None:
        self._log = log
        self._deletions = deletions or Deletions(log)
        # Everything but reading is the log's own.
        self.attach, self.open, self.close, self.probe = log.attach, log.open, log.close, log.probe
        self.append, self.commit, self.leave = log.append, log.commit, log.leave
        self.trim, self.census, self.delete_session = log.trim, log.census, log.delete_session
        self.put_pieces = log.put_pieces
        self.put_note, self.delete_note = log.put_note, log.delete_note
        self.notes, self.noted = log.notes, log.noted
        self.index, self.unindexed = log.index, log.unindexed
        self._learned = LearnedInvocations(log)
        self._apps = apps
        self._redact = redact
        self._report = report

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; those of sessions only where one session is asked for.

        Raise `Gone` for a session that was deleted.
        """
        hidden = await self._deletions.current()
        if Origin(app=app, user=user, session=session) in hidden:
            raise deleted()
        found = await self._log.list(app=app, user=user, session=session, unended=unended)
        known = [each for each in found if each.origin not in hidden]
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
            session = await self._apps.sessions(origin.app).get(origin)
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
            found = await self._learned.complete(await self._log.summary(run))
        else:
            found = _summary(name, await self._read(name))
        await self._deletions.check(found.origin)
        return found

    async def search(self, query: RunQuery, *, limit: int, before: int | None = None) -> SearchPage:
        """Return the newest runs that fit, without those of deleted sessions."""
        page = await self._log.search(query, limit=limit, before=before)
        hidden = await self._deletions.current()
        kept = [each for each in page.found if each.summary.origin not in hidden]
        return structs.replace(page, found=kept)

    async def get_pieces(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        """Return pieces of a run's session; a session's run refers to none."""
        if SessionRunId.decode(run) is not None:
            return {}
        return await self._log.get_pieces(run, numbers)

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Give entries past `after`; a session's run is over, so following it ends."""
        name = SessionRunId.decode(run)
        return self._recorded(run, after, follow) if name is None else self._past(name, after)

    async def _recorded(
        self, run: RunId, after: int, follow: bool
    ) -> AsyncGenerator[Sequence[Entry], None]:
        hidden = await self._deletions.current()
        if hidden and (await self._log.summary(run)).origin in hidden:
            raise deleted()
        async with aclosing(self._log.read(run, after, follow=follow)) as batches:
            async for batch in batches:
                yield batch

    async def _past(self, name: SessionRunId, after: int) -> AsyncGenerator[Sequence[Entry], None]:
        await self._deletions.check(name.origin)
        entries = await self._read(name)
        if after > len(entries):
            raise BadPosition(f"The run has {len(entries)} entries; {after} is past its end.")
        if after < len(entries):
            yield entries[after:]

    async def _read(self, name: SessionRunId) -> Sequence[Entry]:
        session = await self._apps.sessions(name.app).get(name.origin)
        events = stored_invocations(session).get(name.invocation, [])
        if not 0 < name.events <= len(events):
            raise NotFound("There is no such run in that session (any more).")
        return self._entries(name, events)

    def _entries(self, name: SessionRunId, events: StoredEvents) -> Sequence[Entry]:
        entries = session_run(name, events, self._report)
        return [Entry(each.cursor, each.time, self._redact(each.record)) for each in entries]


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
