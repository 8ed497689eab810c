"""The lifecycle of a server: what is opened at the start, drained and closed at the end.

An application that is served by itself is started by its lifespan. One that is mounted in another
has no lifespan of its own (Starlette does not run it), so the first request starts it. Both lead
here, and starting happens once.

Going down has two steps: *drain* (no new work; what runs may finish, within the grace period) and
*stop* (everything that was opened is closed, last first).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Literal, Protocol

from adk_prism.adk.internals.capabilities import switched_off
from adk_prism.errors import Diagnostic, Draining, Report, cause_of
from adk_prism.server.observability.request_tracking import CURRENT_REQUEST

Resource = Callable[[], AbstractAsyncContextManager[object]]
Hook = Callable[[float], Awaitable[None]]
"""Called with the seconds that running work has to end by itself."""
Phase = Literal["idle", "running", "draining", "stopped"]

LAST_RESORT = 7.0
"""Seconds of the grace period kept for what does not end by itself: five to be asked to end
(`runs.runs.CANCEL_GRACE`), one to write down that it did, and one for viewers to be sent it."""

SHORTEST_PATIENCE = 0.4
"""Share of a short grace period: as long again to be asked, and a fifth to write and to send."""


class Lifecycle:
    """The phases of one server, and what it holds while it runs."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._phase: Phase = "idle"
        self._resources: list[Resource] = []
        self._drains: list[Hook] = []
        self._cuts: list[Callable[[], None]] = []
        self._held = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def draining(self) -> bool:
        """Whether new work is refused."""
        return self._phase in ("draining", "stopped")

    def hold(self, resource: Resource) -> None:
        """Open a resource at the start and close it at the stop, in reverse order."""
        self._resources.append(resource)

    def on_drain(self, hook: Hook) -> None:
        """Await a hook when the server goes down: to finish, hand over or end what runs."""
        self._drains.append(hook)

    def on_cut(self, hook: Callable[[], None]) -> None:
        """Call a hook when clients that wait or read are disconnected, because the server goes down."""
        self._cuts.append(hook)

    def cut(self) -> None:
        """Disconnect clients that still wait or read."""
        for hook in self._cuts:
            hook()

    def check_open(self) -> None:
        """Raise `Draining` if the server takes no new work."""
        if self.draining:
            raise Draining("The server is shutting down; try again shortly.")

    async def start(self) -> None:
        """Open everything, once. Whatever fails to open is raised, and what was open is closed."""
        self._follow_loop()
        async with self._turn:
            if self._phase in ("running", "draining"):
                return
            async with AsyncExitStack() as opening:
                for resource in self._resources:
                    await opening.enter_async_context(resource())
                self._held = opening.pop_all()
            self._phase = "running"
        if off := switched_off():
            self._report(Diagnostic(kind="capability off", detail=off))

    def _follow_loop(self) -> None:
        """Forget what was open on an event loop that has ended: it was closed with that loop."""
        loop = asyncio.get_running_loop()
        if self._loop is not None and self._loop is not loop and self._loop.is_closed():
            self._phase, self._held, self._turn = "idle", AsyncExitStack(), asyncio.Lock()
        self._loop = loop

    async def start_for_request(self) -> None:
        """Start before the first request, where no lifespan did."""
        if self.draining:
            return
        # What is started here outlives this request and does not belong to it.
        token = CURRENT_REQUEST.set(None)
        try:
            await self.start()
        finally:
            CURRENT_REQUEST.reset(token)

    async def drain(self, grace: float) -> None:
        """Refuse new work and await the drain hooks, at most `grace` seconds."""
        self._phase = "draining"
        patience = max(grace - LAST_RESORT, grace * SHORTEST_PATIENCE)
        ends = [asyncio.wait_for(hook(patience), grace) for hook in self._drains]
        results = await asyncio.gather(*ends, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                self._report(Diagnostic(kind="drain incomplete", cause=cause_of(result)))

    async def stop(self) -> None:
        """Close everything; repeating it changes nothing."""
        async with self._turn:
            self._phase = "stopped"
            await self._held.aclose()


class Openable(Protocol):
    """Something that is opened and closed."""

    async def open(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Release what it holds."""


@asynccontextmanager
async def opened(part: Openable) -> AsyncIterator[None]:
    """Open a part, and close it at the end: a resource for `Lifecycle.hold`."""
    await part.open()
    try:
        yield
    finally:
        await part.close()
