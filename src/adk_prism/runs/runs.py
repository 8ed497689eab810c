"""The runs of this process: started, continued, stopped, and ended or handed over when it goes down.

A run is a task of its own. It belongs to the server, not to the connection that asked for it: a client
that leaves or reads slowly changes nothing. Stopping is an explicit request.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from adk_prism.adk.request import CallRecorder, EventSource
from adk_prism.adk.tools import WORK, Work, Works
from adk_prism.errors import Conflict, Diagnostic, Draining, Fenced, LogError, Report, cause_of
from adk_prism.extension import Limiter
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.coordination import Lease, Leases, LocalLeases
from adk_prism.log.entry import Origin, RunEnded, RunId, RunStarted, is_recorded
from adk_prism.log.private_files import cancel_task
from adk_prism.runs.recorder import STOPPED, Past, RunRecorder, run_span
from adk_prism.runs.session_locks import LOOK, Policy, SessionLocks
from adk_prism.runs.session_log import Deletions

CANCEL_GRACE = 5.0
"""Seconds between asking a run to stop and stopping its task. ADK's own abort takes milliseconds; a tool
that blocks its own cancellation gets this long."""

END_GRACE = 3.0
"""Seconds in which a process that goes down stores the ends of its runs: several times as long as a run needs
that ignores its cancellation."""

AT_ONCE = 1.0
"""Seconds after which a request to stop is answered: many times what ADK's own abort takes."""

REMOTE_CANCEL = 30.0
"""Seconds for which a run that continues elsewhere is asked to stop: a takeover may come first."""

MakeSource = Callable[[RunId], EventSource]
Adopt = Callable[[Lease], Awaitable[tuple[EventSource, Past]]]
"""Reads what there is of a run that is owned now, and returns it with what is to come."""


class Watch(Protocol):
    """Sees runs come and go."""

    def run_began(self, origin: Origin, *, taken_over: bool) -> None:
        """See a run that is recorded here from now."""

    def run_ended(self, origin: Origin, end: RunEnded | None, seconds: float) -> None:
        """Called for a run that is no longer recorded here; without an end, it continues elsewhere."""


def new_run() -> RunId:
    """Draw a run id."""
    return RunId(f"run-{secrets.token_hex(12)}")


class _Active:
    """A run that is being recorded."""

    __slots__ = ("origin", "recorder", "task", "work")

    def __init__(self, origin: Origin, recorder: RunRecorder) -> None:
        self.origin = origin
        self.recorder = recorder
        self.work = Work(origin.user)
        self.task: asyncio.Task[None] | None = None

    def stop(self, code: str = "") -> None:
        """Ask the run to stop, and see to it that it does; with a code, it fails with that."""
        self.recorder.stop(code)
        asyncio.get_running_loop().call_later(CANCEL_GRACE, self._insist)

    def lose(self) -> None:
        """Stop at once, and write nothing: another process has the run."""
        self.recorder.lose()
        self._insist()

    def leave(self) -> None:
        """Stop at once, so that another process continues."""
        self.recorder.leave()
        self._insist()

    def _insist(self) -> None:
        if self.task is not None and not self.task.done():
            self.recorder.insist()


class Runs:
    """Starts runs and keeps them."""

    def __init__(
        self,
        log: RunLog,
        locks: SessionLocks,
        report: Report,
        leases: Leases | None = None,
        limiter: Limiter | None = None,
        watch: Watch | None = None,
        can_resume: Callable[[RunStarted], bool] = lambda _: False,
        calls: CallRecorder | None = None,
        deletions: Deletions | None = None,
    ) -> None:
        """`can_resume` returns whether another process could continue a run; `calls` stores model calls."""
        self._log = log
        self.locks = locks
        self._report = report
        self._leases: Leases = leases or LocalLeases()
        self._limiter = limiter or Limiter()
        self._watch = watch
        self._leases.listen("cancel", self._hear_cancel)
        self._active: dict[RunId, _Active] = {}
        self._abandoned: set[asyncio.Task[object]] = set()
        self._draining = False
        self._can_resume = can_resume
        self._calls = calls
        self.deletions = deletions or Deletions(log)
        self.canceller = Canceller(log, self, report)

    async def start(
        self,
        origin: Origin,
        policy: Policy,
        make: MakeSource,
        run: RunId | None = None,
        *,
        runs_agent: bool = True,
    ) -> RunId:
        """Start a run, which `runs_agent` or only records something, and return once it is in the log.

        Raise `Gone` for a deleted session, `Conflict` where it is busy and policy refuses, `TooMany` beyond
        a limit, `Draining` while going down, and whatever kept the source from
        beginning; then there is no run.
        """
        if self._draining:
            raise Draining("The server is shutting down; try again in a moment.")
        run = run or new_run()
        active = _Active(origin, self._recorder(run, make(run)))
        async with self._limiter.entering(origin, runs_agent=runs_agent):
            await self.locks.acquire(origin, policy, active.stop)
            try:
                await self.deletions.check(origin)
                lease = await self._leases.begin(run)
            except BaseException:
                await self.locks.release(origin)
                raise
        self._keep(run, active, lease)
        await asyncio.shield(active.recorder.started)
        return run

    def _recorder(self, run: RunId, source: EventSource, past: Past | None = None) -> RunRecorder:
        return RunRecorder(self._log, run, source, self._report, past, self._calls)

    async def adopt(self, summary: RunSummary, make: Adopt) -> bool:
        """Continue a run without an owner; return whether its lease was available. Raise `LogError`."""
        run, origin = summary.run, summary.origin
        active: _Active | None = None
        is_stopped = False

        def stop() -> None:
            nonlocal is_stopped
            is_stopped = True
            if active is not None:
                active.stop()

        if self._draining or run in self._active:
            return False
        if not await self.locks.try_acquire(origin, stop):
            return False
        lease: Lease | None = None
        try:
            lease = await self._leases.claim(summary)
            if lease is not None:
                source, past = await make(lease)
                active = _Active(origin, self._recorder(run, source, past))
        except BaseException:
            if lease is not None:
                await self._leases.release(lease)
            await self.locks.release(origin)
            raise
        if lease is None or active is None:
            await self.locks.release(origin)
            return False
        if is_stopped:
            active.stop()
        async with self._limiter.entering(origin, must=True):
            self._keep(run, active, lease, taken_over=True)
        return True

    def _keep(self, run: RunId, active: _Active, lease: Lease, *, taken_over: bool = False) -> None:
        self._active[run] = active
        lease.on_lost = active.lose
        recording = self._record(run, active, lease, taken_over)
        active.task = asyncio.create_task(recording, name=f"record {run}")
        self._limiter.begin(run, active.stop)

    async def _record(self, run: RunId, active: _Active, lease: Lease, taken_over: bool) -> None:
        origin, recorder = active.origin, active.recorder
        WORK.set(active.work)
        try:
            with self._seen(active, taken_over), run_span(run, recorder):
                await recorder.record(lease)
        except LogError as error:
            kind = "run taken over" if isinstance(error, Fenced) else "run not recorded"
            self._report(Diagnostic(kind=kind, detail=error.detail, run=run, cause=cause_of(error)))
        finally:
            self._keep_abandoned(recorder)
            self._active.pop(run, None)
            self._limiter.end(run)
            await self._limiter.leave(origin)
            await self._log.leave(run)
            try:
                await self._leases.release(lease)
            finally:
                await self.locks.release(origin)

    def _keep_abandoned(self, recorder: RunRecorder) -> None:
        """Keep a task that still runs: asyncio itself does not."""
        task = recorder.abandoned
        if task is not None:
            self._abandoned.add(task)
            task.add_done_callback(self._abandoned.discard)

    @property
    def abandoned(self) -> int:
        """How many runs have ended while their code still runs."""
        return len(self._abandoned)

    @contextmanager
    def _seen(self, active: _Active, taken_over: bool) -> Iterator[None]:
        """Let a run be seen from when it is in the log; one that never came to be is not."""
        watch, recorder, began = self._watch, active.recorder, time.monotonic()
        if watch is None:
            yield
            return

        def is_there(started: asyncio.Future[None]) -> None:
            if not started.cancelled() and started.exception() is None:
                watch.run_began(active.origin, taken_over=taken_over)

        recorder.started.add_done_callback(is_there)
        try:
            yield
        finally:
            if recorder.head is not None:
                watch.run_ended(active.origin, recorder.ended, time.monotonic() - began)

    def _hear_cancel(self, name: str) -> None:
        active = self._active.get(RunId(name))
        if active is not None:
            active.stop()

    async def cancel(self, run: RunId) -> RunSummary:
        """Ask a run to stop, in any process; one that is over stays as it is.

        Raise `NotFound` or `Gone`.
        """
        active = self._active.get(run)
        if active is not None and active.task is not None:
            active.stop()
            await asyncio.wait([active.task])
        summary = await self._log.summary(run)
        if self._leases.is_shared and summary.outcome is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(REMOTE_CANCEL):
                    await self._cancel_elsewhere(summary)
            summary = await self._log.summary(run)
        return summary

    async def _cancel_elsewhere(self, summary: RunSummary) -> None:
        """Repeat the request until the run is over: another process may just be taking it over."""
        over = asyncio.create_task(_end_of(self._log, summary))
        try:
            while not over.done():
                await self._leases.say("cancel", summary.run)
                await asyncio.wait([over], timeout=LOOK)
        finally:
            await cancel_task(over)
            if not over.cancelled():
                over.exception()  # Retrieved: the next reader of the log gets the same error.

    async def wait(self, run: RunId) -> None:
        """Wait until a run that is recorded here is over."""
        active = self._active.get(run)
        if active is not None and active.task is not None:
            await asyncio.wait([active.task])

    def is_active(self, run: RunId) -> bool:
        """Return whether the run is being recorded here."""
        return run in self._active

    def work(self, origin: Origin, run: RunId | None = None) -> Works:
        """Return what the tools of a session do here; with a run, those of that one."""
        found = (
            active.work
            for name, active in self._active.items()
            if active.origin == origin and run in (None, name)
        )
        return Works(found)

    def by_app(self) -> Counter[str]:
        """Return how many runs of each app are being recorded here."""
        return Counter(active.origin.app for active in self._active.values())

    def refuse_new(self) -> None:
        """Start no more runs, and take none over."""
        self._draining = True

    async def drain(self, grace: float) -> None:
        """Take no new runs; let those that run end within `grace` seconds, then stop them."""
        self.refuse_new()
        tasks = [a.task for a in self._active.values() if a.task is not None]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        left = [run for run in list(self._active) if self._end_here(self._active[run])]
        if late:
            _, stuck = await asyncio.wait(late, timeout=min(grace, CANCEL_GRACE))
            for active in list(self._active.values()):
                active.recorder.insist()
            if stuck:
                await self._let_go(stuck)
        for run in left:
            await self._leases.say("left", run)

    async def _let_go(self, tasks: set[asyncio.Task[None]]) -> None:
        """Wait for runs that were cancelled; not for a log that does not store their ends."""
        _, waiting = await asyncio.wait(tasks, timeout=END_GRACE)
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=END_GRACE)

    def _end_here(self, active: _Active) -> bool:
        """Stop a run, or hand it over if another process can continue it; return whether it was."""
        head = active.recorder.head
        if self._leases.is_shared and head is not None and self._can_resume(head):
            active.leave()
            return True
        active.stop(STOPPED)
        return False


async def _end_of(log: RunLog, summary: RunSummary) -> None:
    """Wait for a run's end."""
    async with aclosing(log.read(summary.run, summary.cursor, follow=True)) as batches:
        async for _ in batches:
            pass


class CancelResult(NamedTuple):
    """What became of a request to stop."""

    found: bool
    """There was something to stop."""
    tools: list[str] | None
    """Tools that are still at work; None where another process has the run, and knows."""

    def shown(self) -> dict[str, Any]:
        """Return the answer's fields."""
        running = None if self.tools is None else bool(self.tools)
        return {"toolRunning": running, "runningTools": self.tools or []}


class Canceller:
    """Stops runs for clients, which are answered at once, whatever the tools do.

    A run that is asked to stop ends within milliseconds, unless a tool ignores its cancellation; and the
    thread of a tool continues when the run has ended. The request waits for neither: the answer lists the
    tools that are still running. The rest happens in the background.
    """

    def __init__(self, log: RunLog, runs: Runs, report: Report) -> None:
        self._log = log
        self._runs = runs
        self._report = report
        self._left: set[asyncio.Task[Any]] = set()
        """Requests that were answered before they were done."""

    async def stop(self, origin: Origin) -> CancelResult:
        """Stop the run of a session, if there is one. Raise `LogError`."""
        work = self._runs.work(origin)
        stopping = await self._begin(self._runs.locks.stop(origin))
        if stopping.done() and not stopping.result():
            return await self._stop_left(origin)
        return CancelResult(True, work.tools if work else None)

    async def _stop_left(self, origin: Origin) -> CancelResult:
        """Stop the runs that a dead process left in a session, and that nobody has taken over yet."""
        left = await self._log.list(
            app=origin.app, user=origin.user, session=origin.session, unended=True
        )
        runs = [each.run for each in left if not is_recorded(each.run)]
        for run in runs:
            await self._begin(self._runs.cancel(run))
        return CancelResult(True, None) if runs else CancelResult(False, [])

    async def cancel(self, run: RunId) -> tuple[RunSummary, CancelResult]:
        """Stop a run, in any process. Raise `NotFound`, `Gone`, `Conflict` or `LogError`."""
        before = await self._log.summary(run)
        if before.outcome is not None:
            return before, CancelResult(False, [])
        if is_recorded(run):
            raise Conflict("The run is recorded from another process, which alone can stop it.")
        work = self._runs.work(before.origin, run)
        await self._begin(self._runs.cancel(run))
        summary = await self._log.summary(run)
        return summary, CancelResult(True, work.tools if work else None)

    async def _begin(self, stopping: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start something and wait for it, but not for long. Raise what it raises until then."""
        task = asyncio.create_task(asyncio.wait_for(stopping, REMOTE_CANCEL), name="stop a run")
        self._left.add(task)
        await asyncio.wait([task], timeout=AT_ONCE)
        if task.done():
            self._left.discard(task)
            task.result()
        else:
            task.add_done_callback(self._finish)
        return task

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._left.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(Diagnostic(kind="run not stopped", cause=cause_of(error)))
