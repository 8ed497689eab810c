"""Live runs, and who is on the line: one client a session, who may drop and come back.

A live run belongs to the server like any other. A client that leaves has some seconds to come back and
finds the same run, which went on meanwhile; then the run is ended. One that joins while another is on the
line takes its place or is refused, as the operator has set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal
from uuid import uuid4

from adk_prism.diagnostics import Report
from adk_prism.errors import Conflict
from adk_prism.pipeline.runs import Runs
from adk_prism.pipeline.session_locks import Policy, SessionLocks
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.source.apps import Apps
from adk_prism.source.contract import EventSource
from adk_prism.source.live.options import LiveCall, LiveOptions
from adk_prism.source.live.source import Listener, LiveSource

SecondClientPolicy = Literal["takeover", "refuse"]
"""What a second client of a session does to the first."""
DisconnectReason = Literal["taken over", "going down"]

MAX_ABANDONED = 64
"""Runs that wait for their client to come back; of more, the first to be left is ended at once."""

DRAIN_SHARE = 0.9
"""Of the time in which runs may end by themselves: in the rest a live run that was closed ends."""

OnDisconnect = Callable[[DisconnectReason], None]
"""Tells a client that the line is no longer its own."""


class LiveRun:
    """A live run, and the client that talks to it."""

    def __init__(self, lines: LiveRuns, origin: Origin, run: RunId, source: LiveSource) -> None:
        self._lines = lines
        self.origin = origin
        self.run = run
        self.source = source
        self._leave: OnDisconnect | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_taken(self) -> bool:
        """Whether a client is on the line."""
        return self._leave is not None

    def take(self, leave: OnDisconnect, listener: Listener) -> None:
        """Put a client on the line, in the place of whoever is there."""
        if self._leave is not None:
            self._leave("taken over")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._leave, self.source.listener = leave, listener

    def drop(self, leave: OnDisconnect) -> None:
        """Take a client off the line, if it is still its own; it may come back within the grace."""
        if self._leave != leave:
            return
        self._leave = self.source.listener = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._lines.grace, self.end)
        self._lines.left(self)

    def end(self) -> None:
        """End the run; repeating it changes nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.source.close()

    def go_down(self) -> None:
        """End the run because the server ends."""
        if self._leave is not None:
            self._leave("going down")
        self.end()


class LiveRuns:
    """The live runs of one server."""

    def __init__(
        self,
        apps: Apps,
        runs: Runs,
        report: Report,
        *,
        options: LiveOptions,
        grace: float,
        second: SecondClientPolicy,
        busy: Policy,
    ) -> None:
        """`busy` is what a live run does to another run of its session."""
        self._apps = apps
        self._runs = runs
        self._report = report
        self.options = options
        self.grace = grace
        self._second = second
        self._busy = busy
        self._lines: dict[Origin, LiveRun] = {}
        self._left: dict[RunId, LiveRun] = {}
        self._joining = SessionLocks()
        self._watching: set[asyncio.Task[None]] = set()

    def is_running(self, origin: Origin) -> bool:
        """Tell whether a run of the session goes on."""
        line = self._lines.get(origin)
        return line is not None and not line.source.is_over

    async def join(
        self, origin: Origin, options: LiveOptions, leave: OnDisconnect, listener: Listener
    ) -> LiveRun:
        """Put a client on its session's line; a run is started if there is none.

        Raise `Conflict` where another client is on it and the operator lets it stay, `Draining` while
        going down, and whatever kept the run from beginning.
        """
        async with self._joining.held(origin):
            line = self._lines.get(origin)
            if line is not None and line.source.is_over:
                await self._runs.wait(line.run)
                line = None
            if line is None:
                line = await self._start(origin, options)
            elif line.is_taken and self._second == "refuse":
                raise Conflict(
                    "Another client is using voice in this session; it must disconnect first."
                )
            self._left.pop(line.run, None)
            line.take(leave, listener)
            return line

    async def _start(self, origin: Origin, options: LiveOptions) -> LiveRun:
        await self._apps.sessions(origin.app).ensure(origin)
        sources: list[LiveSource] = []

        def make(run: RunId) -> EventSource:
            call = LiveCall(run=run, origin=origin, invocation=f"e-{uuid4()}", options=options)
            runner, agents = self._apps.runner(origin.app), self._apps.agents(origin.app)
            sources.append(LiveSource(runner, call, agents=agents, report=self._report))
            return sources[0]

        run = await self._runs.start(origin, self._busy, make)
        line = self._lines[origin] = LiveRun(self, origin, run, sources[0])
        watching = asyncio.create_task(self._watch(line), name=f"watch {run}")
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return line

    async def _watch(self, line: LiveRun) -> None:
        """Forget a run that is over."""
        await self._runs.wait(line.run)
        line.end()
        self._left.pop(line.run, None)
        if self._lines.get(line.origin) is line:
            del self._lines[line.origin]

    def left(self, line: LiveRun) -> None:
        """Note that a run waits for its client to come back."""
        if line.source.is_over:
            return
        self._left[line.run] = line
        if len(self._left) > MAX_ABANDONED:
            self._left.pop(next(iter(self._left))).end()

    async def drain(self, patience: float) -> None:
        """Let clients talk on for some seconds, then send them away and end their runs."""
        if patience and self._watching:
            await asyncio.wait(self._watching, timeout=patience * DRAIN_SHARE)
        for line in list(self._lines.values()):
            line.go_down()
