"""Live runs and their clients: one client per session, which may disconnect and reconnect.

A live run belongs to the server like any other. A client that disconnects has some seconds to reconnect to
the same run, which continues meanwhile; then the run is ended. A client that joins while another is
connected takes over or is refused, as the operator has set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal
from uuid import uuid4

from adk_prism.adk.apps import Apps
from adk_prism.adk.request import EventSource
from adk_prism.errors import Conflict, Report
from adk_prism.log.entry import Origin, RunId
from adk_prism.runs.branches import SessionBranches
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import Policy, SessionLocks
from adk_prism.voice.conversation import Listener, LiveConversation
from adk_prism.voice.run_context import LiveCall, LiveOptions

SecondClientPolicy = Literal["takeover", "refuse"]
"""What a second client of a session does to the first."""
DisconnectReason = Literal["taken over", "shutdown"]

MAX_WITHOUT_CLIENT = 64
"""Runs that wait for their client to reconnect; beyond that, the one that has waited longest is ended."""

DRAIN_SHARE = 0.9
"""The share of the drain time in which live runs may end by themselves; the rest is for ending them."""

OnDisconnect = Callable[[DisconnectReason], None]
"""Notifies a client that it is no longer connected to the run."""


class LiveRun:
    """A live run, and the client that is connected to it."""

    def __init__(
        self, runs: LiveRuns, origin: Origin, run: RunId, source: LiveConversation
    ) -> None:
        self._runs = runs
        self.origin = origin
        self.id = run
        self.source = source
        self._on_disconnect: OnDisconnect | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def has_client(self) -> bool:
        """Whether a client is connected."""
        return self._on_disconnect is not None

    def connect(self, on_disconnect: OnDisconnect, listener: Listener) -> None:
        """Connect a client; one that is connected is disconnected."""
        if self._on_disconnect is not None:
            self._on_disconnect("taken over")
        self._stop_timer()
        self._on_disconnect, self.source.listener = on_disconnect, listener

    def disconnect(self, on_disconnect: OnDisconnect) -> None:
        """Disconnect a client, unless another one is connected; it may reconnect within the grace period."""
        if self._on_disconnect != on_disconnect:
            return
        self._on_disconnect = self.source.listener = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._runs.grace, self.end)
        self._runs.wait_for_client(self)

    def end(self) -> None:
        """End the run; repeating it changes nothing."""
        self._stop_timer()
        self.source.close()

    def shut_down(self) -> None:
        """End the run because the server shuts down."""
        if self._on_disconnect is not None:
            self._on_disconnect("shutdown")
        self.end()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class LiveRuns:
    """The live runs of one server."""

    def __init__(
        self,
        apps: Apps,
        runs: Runs,
        branches: SessionBranches,
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
        self._branches = branches
        self._report = report
        self.options = options
        self.grace = grace
        self._second = second
        self._busy = busy
        self._running: dict[Origin, LiveRun] = {}
        self._without_client: dict[RunId, LiveRun] = {}
        self._joining = SessionLocks()
        self._watching: set[asyncio.Task[None]] = set()

    def is_running(self, origin: Origin) -> bool:
        """Return whether a session has a live run."""
        run = self._running.get(origin)
        return run is not None and not run.source.is_over

    async def join(
        self, origin: Origin, options: LiveOptions, on_disconnect: OnDisconnect, listener: Listener
    ) -> LiveRun:
        """Connect a client to the live run of its session, which is started if there is none.

        Raise `Conflict` where another client is connected and may stay, `Draining` during shutdown, and
        whatever kept the run from starting.
        """
        async with self._joining.held(origin):
            run = self._running.get(origin)
            if run is not None and run.source.is_over:
                await self._runs.wait(run.id)
                run = None
            if run is None:
                run = await self._start(origin, options)
            elif run.has_client and self._second == "refuse":
                raise Conflict("Another client is connected to this session; disconnect it first.")
            self._without_client.pop(run.id, None)
            run.connect(on_disconnect, listener)
            return run

    async def _start(self, origin: Origin, options: LiveOptions) -> LiveRun:
        app = self._apps.app(origin.app)
        await self._apps.sessions(origin.app).ensure(origin)
        sources: list[LiveConversation] = []

        def make(run: RunId) -> EventSource:
            call = LiveCall(run=run, origin=origin, invocation=f"e-{uuid4()}", options=options)
            sources.append(app.live(call, self._report))
            return sources[0]

        await self._branches.settle(origin, self._busy)
        run_id = await self._runs.start(origin, self._busy, make)
        run = self._running[origin] = LiveRun(self, origin, run_id, sources[0])
        watching = asyncio.create_task(self._watch(run), name=f"watch {run_id}")
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return run

    async def _watch(self, run: LiveRun) -> None:
        """Forget a run that has ended."""
        await self._runs.wait(run.id)
        run.end()
        self._without_client.pop(run.id, None)
        if self._running.get(run.origin) is run:
            del self._running[run.origin]

    def wait_for_client(self, run: LiveRun) -> None:
        """Note that a run waits for its client to reconnect."""
        if run.source.is_over:
            return
        self._without_client[run.id] = run
        if len(self._without_client) > MAX_WITHOUT_CLIENT:
            self._without_client.pop(next(iter(self._without_client))).end()

    async def drain(self, patience: float) -> None:
        """Let conversations continue for some seconds, then disconnect their clients and end the runs."""
        if patience and self._watching:
            await asyncio.wait(self._watching, timeout=patience * DRAIN_SHARE)
        for run in list(self._running.values()):
            run.shut_down()
