"""Follows runs that another process writes: one task for each run, however many readers follow it.

Redis publishes a message when a run has grown (one connection of a process receives them for all its runs);
the task then reads what is new and gives it to all readers through the run's recent entries. A message can be
lost with a connection, so the tasks also look from time to time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from redis.asyncio import Redis

from adk_prism.errors import PrismError
from adk_prism.runlog.cancel_task import cancel_task
from adk_prism.runlog.entry import RunId
from adk_prism.runlog.notifier import Notifier
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.redis.client import STORE_ERRORS
from adk_prism.runlog.redis.keys import Keys
from adk_prism.runlog.run_state import trimmed

LOOK = 1.0
"""Seconds after which a run is read without a message."""

_RETRY = 0.2
"""Seconds until a lost connection is opened again."""

_LOST = (*STORE_ERRORS, RuntimeError)
"""Errors of a lost pub/sub connection. Subscribing at the moment in which it is lost would read from it too:
asyncio refuses a second reader with a RuntimeError."""


class RunSubscription:
    """A run that another process writes, and its followers here."""

    def __init__(self, live: BufferedRun) -> None:
        self.live = live
        self.followers = 0
        self.signal = Notifier()
        """Notified when there may be something new."""
        self.error: PrismError | None = None
        """Why the task stopped."""
        self.task: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise what keeps the run from continuing."""
        if self.error is not None:
            raise self.error
        if self.live.removed:
            raise trimmed(self.live.run)


Advance = Callable[[BufferedRun], Awaitable[bool]]
"""Reads what is new of a run; returns whether more may come."""


class RunSubscriptions:
    """The followed runs of a process."""

    def __init__(self, redis: Redis, keys: Keys, advance: Advance) -> None:
        self._keys = keys
        self._advance = advance
        self._watched: dict[RunId, RunSubscription] = {}
        self._tailers: set[asyncio.Task[None]] = set()
        """Also those without followers that still unsubscribe."""
        self._channels = redis.pubsub(ignore_subscribe_messages=True)
        self._is_connected = False
        """Whether there is a connection. While there is none, only the listener opens one."""
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect and begin to listen."""
        await self._channels.subscribe(self._keys.silence)
        self._is_connected = True
        self._listener = asyncio.create_task(self._listen(), name="adk-prism run messages")

    async def close(self) -> None:
        """Stop everything, and wake all followers."""
        tasks = [*self._tailers, *([self._listener] if self._listener is not None else [])]
        await asyncio.gather(*map(cancel_task, tasks))
        with suppress(*_LOST):
            await self._channels.aclose()  # type: ignore[no-untyped-call]
        for watched in self._watched.values():
            watched.live.changed.notify()

    @asynccontextmanager
    async def follow(self, live: BufferedRun) -> AsyncIterator[RunSubscription]:
        """Keep a run up to date while the block runs; `live` is its state now."""
        watched = self._watched.get(live.run)
        if watched is None:
            watched = self._watched[live.run] = RunSubscription(live)
            watched.task = asyncio.create_task(self._tail(watched), name=f"tail {live.run[:40]}")
            self._tailers.add(watched.task)
            watched.task.add_done_callback(self._tailers.discard)
        watched.followers += 1  # The task begins in the next turn of the loop.
        try:
            yield watched
        finally:
            watched.followers -= 1
            if not watched.followers and self._watched.get(live.run) is watched:
                del self._watched[live.run]
                if watched.task is not None:
                    watched.task.cancel()

    async def _tail(self, watched: RunSubscription) -> None:
        """Read until the run is over, or has no followers."""
        live, channel = watched.live, self._keys.channel(watched.live.run)
        try:
            await self._send(self._channels.subscribe, channel)
            while watched.followers and await self._go_on(watched):
                live.changed.notify()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        await watched.signal.wait()
        except PrismError as error:
            watched.error = error
        finally:
            live.changed.notify()
            with suppress(asyncio.CancelledError):
                await self._send(self._channels.unsubscribe, channel)

    async def _send(self, send: Callable[[str], Awaitable[None]], channel: str) -> None:
        if self._is_connected:
            with suppress(*_LOST):
                await send(channel)

    async def _go_on(self, watched: RunSubscription) -> bool:
        try:
            return await self._advance(watched.live)
        except STORE_ERRORS:
            return True  # Redis is down: try again at the next look.

    async def _listen(self) -> None:
        prefix = self._keys.channel(RunId(""))
        while True:
            try:
                if not self._is_connected:
                    await self._subscribe_anew()
                message = await self._channels.get_message(timeout=None)
            except _LOST:
                self._is_connected = False
                await asyncio.sleep(_RETRY)
                self._signal_all()
                continue
            if message is not None:
                watched = self._watched.get(RunId(message["channel"].decode().removeprefix(prefix)))
                if watched is not None:
                    watched.signal.notify()

    async def _subscribe_anew(self) -> None:
        """Subscribe again to all runs that are followed now, and to nothing else."""
        wanted = {self._keys.silence, *map(self._keys.channel, self._watched)}
        await self._channels.subscribe(*wanted)
        known = {name.decode() for name in self._channels.channels}
        if known - wanted:
            await self._channels.unsubscribe(*known - wanted)
        self._is_connected = True

    def _signal_all(self) -> None:
        for watched in self._watched.values():
            watched.signal.notify()
