"""Stops runs: the request is answered at once, whatever the tools do.

A run that is asked to stop ends within milliseconds, unless a tool ignores its cancellation; and the thread
of a tool continues when the run has ended. The request waits for neither: the response lists the tools
that are still running. The rest happens in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, NamedTuple

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import Conflict
from adk_prism.pipeline.runs import REMOTE_CANCEL, Runs
from adk_prism.pipeline.session_locks import SessionLocks
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.runlog.recorder_run_id import is_recorded

AT_ONCE = 1.0
"""Seconds after which a request to stop is answered: many times what ADK's own abort takes."""


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
    """Stops runs."""

    def __init__(self, log: RunLog, runs: Runs, locks: SessionLocks, report: Report) -> None:
        self._log = log
        self._runs = runs
        self._locks = locks
        self._report = report
        self._left: set[asyncio.Task[Any]] = set()
        """Requests that were answered before they were done."""

    async def stop(self, origin: Origin) -> CancelResult:
        """Stop the run of a session, if there is one. Raise `LogError`."""
        work = self._runs.work(origin)
        stopping = await self._begin(self._locks.stop(origin))
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
