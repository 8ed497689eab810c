"""Runs whose process died: found, and continued where the app can, or ended.

Follows what google-adk 2.13 does when an invocation is resumed. Whoever takes over owns the run first, with
a new epoch, so that nothing more comes from the owner before. Then the log is brought up to what the session
has, nodes that ran are ended, and `RunTakenOver` says where the next attempt begins; what ADK says again
after it is for the readers to recognise (`facts`). Tools run at least once: calls without an answer are
named there as in doubt.

A run whose app cannot resume, whose processes died too often, or twice inside the same call, fails with
`owner_lost`; so does one after which the user has said something else. One that waited for a person still
waits, and one that had answered is finished. So every run ends, and no client waits for a dead process. A
process that was stopped on purpose, and hands its runs over, did not die of them: that does not count.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass

import msgspec
from msgspec import structs

from adk_prism import errors
from adk_prism.adk import request as adk_request
from adk_prism.adk.apps import Apps
from adk_prism.adk.request import Emit, EventSource, RunRequest
from adk_prism.adk.stored_events import Stored, stored_events, until_back
from adk_prism.adk.tools import InDoubt
from adk_prism.facts.adk_event import read_event
from adk_prism.facts.nodes import node_ends
from adk_prism.facts.run_reader import Reader
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.coordination import Lease, Leases
from adk_prism.log.entry import Entry, Origin, Record, RunEnded, RunId
from adk_prism.log.private_files import Notifier, cancel_task
from adk_prism.runs.chats import first_invocation
from adk_prism.runs.off_loop import read_head
from adk_prism.runs.recorder import HANDED_OVER, OWNER_LOST, Past
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import Claim

INTERVAL = 0.8
"""Seconds between two looks for runs without an owner: with the lease before it, a takeover begins within
the lease and a second."""

AT_ONCE = 8
"""Runs that one process takes over in one look: the rest is for the others, or for the next look."""

MOST = 5
"""Deaths of processes that had a run: one that crashes every process must not do so for ever."""

_ENDS: dict[Claim, RunEnded] = {
    "stop": RunEnded(outcome="cancelled"),
    "interrupt": RunEnded(outcome="failed", code=OWNER_LOST),
}
"""How a run without an owner ends that nobody is to continue. Only a person cancels."""


def can_resume(apps: Apps, head: records.RunStarted) -> bool:
    """Return whether another process can continue a run of a loaded app."""
    app = head.origin.app
    return _is_turn(head) and apps.is_loaded(app) and apps.resumable(app)


def _is_turn(head: records.RunStarted) -> bool:
    is_plain = not (head.live or records.is_untrusted(head) or adk_request.REPEATS.read(head))
    return head.kind == "turn" and is_plain


@dataclass(eq=False)
class Takeovers:
    """Goes on with the runs that dead processes left."""

    log: RunLog
    apps: Apps
    runs: Runs
    leases: Leases
    report: errors.Report
    doubt: InDoubt

    def __post_init__(self) -> None:
        self._unreadable: set[RunId] = set()
        """Runs without an owner that hold what this version cannot read: they are for a newer one."""
        self._left = Notifier()
        self.leases.listen("left", lambda _: self._left.notify())

    # ------------------------------------------------------------------ finding

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Take over what is there now, and, where processes share a log, whatever is left later."""
        await self.look(most=None)
        if not self.leases.is_shared:
            yield
            return
        task = asyncio.create_task(self._watch(), name="adk-prism takeovers")
        try:
            yield
        finally:
            await cancel_task(task)

    async def _watch(self) -> None:
        while True:
            with suppress(TimeoutError):
                # Not all at the same moment: the first to look takes what it can.
                async with asyncio.timeout(INTERVAL * random.uniform(0.6, 1.0)):
                    await self._left.wait()
            try:
                await self.look()
            except Exception as error:  # The next attempt may succeed; the operator gets a report.
                self.report(errors.Diagnostic(kind="takeover failed", cause=errors.cause_of(error)))

    async def look(self, most: int | None = AT_ONCE) -> list[RunId]:
        """Take over runs without an owner; return which. Raise `LogError`."""
        taken: list[RunId] = []
        # A recorder in another process is not gone because it has nothing to send.
        ownerless = await self.leases.ownerless(self.log)
        found = [run for run in ownerless if not records.is_recorded(run)]
        self._unreadable.intersection_update(found)
        if self.leases.is_shared:
            random.shuffle(found)
        for run in found:
            if most is not None and len(taken) >= most:
                break
            if run not in self._unreadable and await self._try(run):
                taken.append(run)
        return taken

    async def _try(self, run: RunId) -> bool:
        """Take a run over if that is possible; return whether it was."""
        try:
            return await self._take_over(await self.log.summary(run))
        except (errors.NotFound, errors.Gone):
            return False
        except errors.SourceError as error:
            self._unreadable.add(run)
            self.report(
                errors.Diagnostic(kind="takeover failed", run=run, cause=errors.cause_of(error))
            )
            return False

    async def _take_over(self, summary: RunSummary) -> bool:
        if summary.outcome is not None:
            return False
        # Read before it is owned: each claim counts, and one who cannot read has none to make.
        await self._entries(summary.run)

        async def make(lease: Lease) -> tuple[EventSource, Past]:
            return await self._rest(summary, lease)

        if not await self.runs.adopt(summary, make):
            return False
        self.report(
            errors.Diagnostic(kind="run taken over", run=summary.run, app=summary.origin.app)
        )
        return True

    async def settle(self, origin: Origin, claim: Claim | None) -> bool:
        """Deal with runs without an owner in a session that is locked; return whether the session is free.

        With a `claim`, they end, after what the session has of them and the log lacks. Without, the session
        is not free until a process has taken them over, which needs the lock. Raise `LogError`.
        """
        open_runs = await self.log.list(
            app=origin.app, user=origin.user, session=origin.session, unended=True
        )
        for summary in open_runs:
            lease = await self.leases.claim(summary) if claim is not None else None
            if lease is None or claim is None:
                return False
            try:
                await self._end(summary, lease, _ENDS[claim])
            finally:
                await self.log.leave(summary.run)
                await self.leases.release(lease)
        return True

    async def _end(self, summary: RunSummary, lease: Lease, ended: RunEnded) -> None:
        run = summary.run
        try:
            rest, _ = await self._rest(summary, lease, ended)
        except errors.SourceError:  # A newer version wrote it.
            await self.log.append(run, [ended], epoch=lease.epoch)
        else:
            async with aclosing(rest.records()) as coming:
                async for record in coming:
                    assert not isinstance(record, Entry), "what is left of it happens now"
                    await self.log.append(run, [record], epoch=lease.epoch)
        await self.log.commit(run)

    # ------------------------------------------------------------------ going on

    async def will_go_on(self, head: records.RunStarted) -> bool:
        """Load the app of a run that could be continued; return whether it can."""
        if not _is_turn(head):
            return False
        try:
            await self.apps.open(head.origin.app)
        except errors.PrismError:
            return False  # The app is not there, or does not load: it has been reported.
        return can_resume(self.apps, head)

    async def _rest(
        self, summary: RunSummary, lease: Lease, ended: RunEnded | None = None
    ) -> tuple[_Rest, Past]:
        """Read what there is of a run; return what is left of it: with `ended`, no more than that end."""
        entries = await self._entries(summary.run)
        reader = Reader()
        for entry in entries:
            reader.feed(entry)
        head = entries[0].record
        assert isinstance(head, records.RunStarted), "every log begins with its RunStarted"
        past = Past(head, reader)
        rest = _Rest(
            self,
            entries,
            past,
            lease,
            known=await self._known(summary),
            handed_over=await self._handed_over(summary.run),
            is_passed=await self._is_passed(summary),
            ended=ended,
        )
        return rest, past

    async def _handed_over(self, run: RunId) -> frozenset[int]:
        """Return the epochs of the processes that left the run and lived on."""
        notes = (await self.log.side.list([run])).get(run, ())
        return frozenset(int(note.key) for note in notes if note.space == HANDED_OVER)

    async def _is_passed(self, summary: RunSummary) -> bool:
        """Return whether the log has a later turn of the session, of another invocation."""
        origin = summary.origin
        runs = await self.log.list(app=origin.app, user=origin.user, session=origin.session)
        names = [each.run for each in runs]
        for later in runs[names.index(summary.run) + 1 :] if summary.run in names else ():
            is_other = later.invocation != summary.invocation
            if is_other and (await read_head(self.log, later.run)).kind == "turn":
                return True
        return False

    async def _entries(self, run: RunId) -> list[Entry]:
        found: list[Entry] = []
        async with aclosing(self.log.read(run)) as batches:
            async for batch in batches:
                found += batch
        return found

    async def _known(self, summary: RunSummary) -> set[str]:
        """Return the ids of the whole events of a run's invocation, which may span several runs."""
        origin, known = summary.origin, set[str]()
        runs = await self.log.list(app=origin.app, user=origin.user, session=origin.session)
        for run in runs:
            if run.invocation == summary.invocation:
                known.update(_whole_events(await self._entries(run.run)))
        return known

    async def stored(self, past: Past, entries: Sequence[Entry], known: set[str]) -> Stored:
        """Read what the session has of a run."""
        head = past.head
        return await until_back(
            lambda: stored_events(
                self.apps.sessions(head.origin.app),
                head.origin,
                head.invocation or first_invocation(entries),
                since=entries[0].time,
                known=known,
                report=self.report,
                run=head.run,
            )
        )

    def stops_when_left(self, head: records.RunStarted) -> bool:
        """Return whether the run was aborted because its process died, and nobody asked for it."""
        app = head.origin.app
        return self.apps.is_loaded(app) and self.apps.app(app).stops_when_left

    def had_last_word(self, head: records.RunStarted, stored: Stored) -> bool:
        """Return whether the session shows that a run was over, whoever may have missed its end."""
        app, last = head.origin.app, stored.last
        if last is None or not self.apps.is_loaded(app):
            return False
        return self.apps.app(app).is_last_word(last)

    def source(self, past: Past, stored: Stored, lease: Lease) -> EventSource:
        """Return the run of the app that continues an invocation."""
        head, app = past.head, past.head.origin.app
        return self.apps.app(app).source(
            _request(head, stored),
            self.report,
            attempt=lease.epoch,
            doubts={call.adk_id: self.doubt for call in past.reader.owed if call.adk_id},
        )


@dataclass
class _Rest:
    """What is left of a run, as a source: what the log lacks, the seam, and what happens after it."""

    takeovers: Takeovers
    entries: Sequence[Entry]
    past: Past
    lease: Lease
    known: set[str]
    """Ids of events that the log has."""
    handed_over: frozenset[int]
    """Epochs of the processes that did not die of it."""
    is_passed: bool
    """The log has a newer message."""
    ended: RunEnded | None
    """How it ends, if it is not to go on."""
    _inner: EventSource | None = None
    _cancelled: bool = False

    @property
    def correlation(self) -> str:
        return self._inner.correlation if self._inner is not None else ""

    def cancel(self) -> None:
        self._cancelled = True
        if self._inner is not None:
            self._inner.cancel()

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        """Yield what is left. Raise what ended it badly."""
        stored = Stored(False, [])
        was_stopped = self.past.reader.outcome()[0] == "cancelled"
        if self.past.head.kind == "turn":
            # Of a session that is gone, or whose server is, nothing is known.
            with suppress(errors.NotFound, errors.RemoteFailed):
                stored = await self.takeovers.stored(self.past, self.entries, self.known)
        for event in stored.missing:
            yield event
        for end in node_ends(self.entries):
            yield end
        ended = await self._end(stored, was_stopped)
        if ended is not None:
            yield ended
            return
        async for record in self._go_on(emit, stored):
            yield record

    async def _end(self, stored: Stored, was_stopped: bool) -> RunEnded | None:
        """Return the end of a run that cannot or need not be continued."""
        head, reader = self.past.head, self.past.reader
        outcome, code = reader.outcome()
        if _asks_nobody(head) and not was_stopped:
            # It has nothing left to stop: a message that arrives meanwhile does not make it cancelled.
            return RunEnded(outcome=outcome, code=code)
        if self._cancelled or was_stopped:
            return RunEnded(outcome="cancelled")
        if self.ended is not None:
            return self.ended
        if outcome == "cancelled" and not self.takeovers.stops_when_left(head):
            # Only the session says that it was stopped: by a person, or by a server that went down.
            return RunEnded(outcome="failed", code=OWNER_LOST)
        if reader.is_paused:
            return RunEnded(outcome=outcome, code=code)
        can_go_on = await self.takeovers.will_go_on(head)
        is_passed = self.is_passed or stored.is_passed
        if can_go_on and not (is_passed or self._has_killed_too_often or self._is_stuck):
            return None
        if outcome in ("finished", "failed") and self.takeovers.had_last_word(head, stored):
            return RunEnded(outcome=outcome, code=code)
        return RunEnded(outcome="failed", code=OWNER_LOST)

    @property
    def _is_planned(self) -> bool:
        """Whether the process before handed the run over."""
        return self.lease.epoch - 1 in self.handed_over

    @property
    def _has_killed_too_often(self) -> bool:
        return self.lease.epoch - len(self.handed_over) > MOST

    @property
    def _is_stuck(self) -> bool:
        """Whether a process died inside a call in which another one had died: it may crash any of them."""
        takeovers = [e.record for e in self.entries if isinstance(e.record, records.RunTakenOver)]
        died_in = {call for each in takeovers if not each.planned for call in each.in_doubt}
        is_in = any(call.call in died_in for call in self.past.reader.owed)
        return is_in and not self._is_planned

    async def _go_on(
        self, emit: Emit | None, stored: Stored
    ) -> AsyncGenerator[Record | Entry, None]:
        doubtful = [call.call for call in self.past.reader.owed]
        self._inner = self.takeovers.source(self.past, stored, self.lease)
        async with aclosing(self._inner.records(emit)) as coming:
            try:
                await anext(coming)  # the log has the start of the run
            except errors.UsageError:
                yield RunEnded(outcome="failed", code=OWNER_LOST)
                return
            yield records.RunTakenOver(
                epoch=self.lease.epoch, in_doubt=doubtful, planned=self._is_planned
            )
            if self._cancelled:
                self._inner.cancel()
            async for record in coming:
                yield record


def _asks_nobody(head: records.RunStarted) -> bool:
    """Return whether a run only kept answers, and called no model."""
    return head.continues is not None and (head.continues.held or head.continues.unasked)


def _request(head: records.RunStarted, stored: Stored) -> RunRequest:
    """Return the request to the app: to resume or, if the session has nothing of it, the original one."""
    request = RunRequest(
        run=head.run,
        origin=head.origin,
        invocation=head.invocation,
        streaming=records.STREAMING.read(head),
        continues=head.continues,
        client_tools=head.client_tools,
        custom_metadata={
            name: msgspec.json.decode(value)
            for name, value in records.CUSTOM_METADATA.read(head).items()
        },
    )
    if head.continues is not None or records.RESPONSES.read(head):
        found = (
            adk_request.answers_of(head.continues)
            if head.continues
            else adk_request.responses_of(records.RESPONSES.read(head))
        )
        answers, decisions = found
        again = structs.replace(request, invocation="", answers=answers, decisions=decisions)
        # Some may be stored before others.
        given = {response.id for response in again.responses()}
        return request if stored.is_asked and given <= stored.answered else again
    if stored.is_asked or records.is_absent(head.message):
        return request
    return structs.replace(request, message=adk_request.read_content(head.message))


def _whole_events(entries: Sequence[Entry]) -> set[str]:
    """Return the ids of events that are not partial: a partial one has the id of its whole."""
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry.record, records.AgentEvent):
            # An event that cannot be read has no id to look for; readers show it as unrecognised.
            with suppress(msgspec.MsgspecError):
                event = read_event(entry.record.event)
                found |= set() if event.partial else {event.id}
    return found
