"""The runs of this process: started, stopped, and brought to an end when the server goes down.

A run is a task of its own. It belongs to the server, not to the connection that asked for it: a client
that leaves or reads slowly changes nothing. Stopping is an explicit request.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import Draining, LogError
from adk_prism.pipeline.gate import Gate, Policy
from adk_prism.pipeline.record import OWNER_LOST, Recorder
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Origin, RunEnded, RunId
from adk_prism.source.contract import EventSource

CANCEL_GRACE = 5.0
"""Seconds between asking a run to stop and stopping its task. ADK's own abort takes milliseconds; a tool
that blocks its own cancellation gets this long."""

MakeSource = Callable[[RunId], EventSource]


def new_run() -> RunId:
    """Draw a run id."""
    return RunId(f"run-{secrets.token_hex(12)}")


class _Active:
    """A run that is being recorded."""

    __slots__ = ("recorder", "task")

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Ask the run to stop, and see to it that it does."""
        self.recorder.stop()
        asyncio.get_running_loop().call_later(CANCEL_GRACE, self._insist)

    def _insist(self) -> None:
        if self.task is not None and not self.task.done():
            self.task.cancel()


class Runs:
    """Starts runs and keeps them."""

    def __init__(self, log: RunLog, gate: Gate, report: Report) -> None:
        self._log = log
        self._gate = gate
        self._report = report
        self._active: dict[RunId, _Active] = {}
        self._draining = False

    async def recover(self) -> list[RunSummary]:
        """End the runs that a dead process left open; return them."""
        lost = list(await self._log.list(unended=True))
        for summary in lost:
            ended = RunEnded(outcome="failed", code=OWNER_LOST)
            await self._log.append(summary.run, [ended], epoch=summary.epoch)
            await self._log.commit(summary.run)
            self._report(Diagnostic(kind="run lost", detail=OWNER_LOST, run=summary.run))
        return lost

    async def start(
        self, origin: Origin, policy: Policy, make: MakeSource, run: RunId | None = None
    ) -> RunId:
        """Start a run and return once it is in the log.

        Raise `Conflict` where the session is busy and policy refuses, `Draining` while going down, and
        whatever kept the source from beginning; then there is no run.
        """
        if self._draining:
            raise Draining("The server is going down; try again in a moment.")
        run = run or new_run()
        active = _Active(Recorder(self._log, run, make(run), self._report))
        await self._gate.enter(origin, policy, active.stop)
        active.task = asyncio.create_task(self._keep(origin, run, active), name=f"record {run}")
        self._active[run] = active
        await asyncio.shield(active.recorder.started)
        return run

    async def _keep(self, origin: Origin, run: RunId, active: _Active) -> None:
        try:
            await active.recorder.record()
        except LogError as error:
            self._report(
                Diagnostic(
                    kind="run not recorded", detail=error.detail, run=run, cause=cause_of(error)
                )
            )
        finally:
            self._active.pop(run, None)
            self._gate.leave(origin)

    async def cancel(self, run: RunId) -> RunSummary:
        """Ask a run to stop; one that is over stays as it is. Raise `NotFound` or `Gone`."""
        active = self._active.get(run)
        if active is not None and active.task is not None:
            active.stop()
            await asyncio.wait([active.task])
        return await self._log.summary(run)

    async def wait(self, run: RunId) -> None:
        """Wait until a run that is recorded here is over."""
        active = self._active.get(run)
        if active is not None and active.task is not None:
            await asyncio.wait([active.task])

    def is_active(self, run: RunId) -> bool:
        """Tell whether the run is being recorded here."""
        return run in self._active

    def of_session(self, origin: Origin) -> bool:
        """Tell whether a run is active on a session."""
        return self._gate.busy(origin)

    async def drain(self, grace: float) -> None:
        """Take no new runs; let those that run end within `grace` seconds, then stop them."""
        self._draining = True
        tasks = [a.task for a in self._active.values() if a.task is not None]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        for active in list(self._active.values()):
            active.stop()
        if late:
            _, stuck = await asyncio.wait(late, timeout=min(grace, CANCEL_GRACE))
            for task in stuck:
                task.cancel()
            if stuck:
                await asyncio.wait(stuck)
