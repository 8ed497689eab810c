"""The small steps that checks of run logs are made of: a store, a few records, readers and refusals.

For `runlog_contract`, `runlog_machine` and anyone who tests a log, or on one. Nothing here sleeps:
what should happen is waited for, with a limit that only a defect reaches.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Protocol

from adk_prism.errors import PrismError
from adk_prism.log.contract import Retention, RunLog
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, RunId, RunStarted, pack

PATIENCE = 10.0
"""Seconds until a reader that should have been woken counts as forgotten. Nothing sleeps that long
when it works."""


class Store(Protocol):
    """An empty place to keep runs."""

    @property
    def durable(self) -> bool:
        """Whether a log that is opened later finds what an earlier one committed."""

    def log(self) -> RunLog:
        """Return a log on this place, not open yet. The one before it is closed."""


RUN = RunId("run-1")
OTHER = RunId("run-2")
ORIGIN = Origin(app="app", user="user", session="session")
EVERYTHING = Retention(max_age=0, max_bytes=0)
END = RunEnded(outcome="finished")
LATER = 1e12
"""A time after everything."""


def start(run: RunId = RUN, origin: Origin = ORIGIN) -> RunStarted:
    """Return the first record of a run."""
    return RunStarted(run=run, origin=origin, invocation=f"e-{run}")


def event(number: int) -> AgentEvent:
    """Return an event that differs from others."""
    return AgentEvent(b'{"n":%d}' % number)


def events(count: int) -> list[AgentEvent]:
    """Return events that differ."""
    return [event(number) for number in range(count)]


@asynccontextmanager
async def opened(store: Store) -> AsyncIterator[RunLog]:
    """Open a log on a store, and close it."""
    log = store.log()
    await log.open()
    try:
        yield log
    finally:
        await log.close()


async def collect(
    log: RunLog, run: RunId = RUN, after: int = 0, *, follow: bool = False
) -> list[Entry]:
    """Read until the iteration ends. No batch may be empty."""
    entries: list[Entry] = []
    async with aclosing(log.read(run, after, follow=follow)) as batches:
        async for batch in batches:
            assert batch, "a batch was empty"
            entries += batch
    return entries


async def refused(kind: type[PrismError], doing: Awaitable[object]) -> None:
    """Check that something is refused, and with which error."""
    try:
        answer = await asyncio.wait_for(doing, PATIENCE)
    except kind:
        return
    raise AssertionError(f"expected {kind.__name__}, got the answer {answer!r}")


def cursors(entries: Sequence[Entry]) -> list[int]:
    """Return the cursors of entries."""
    return [entry.cursor for entry in entries]


def packed(entries: Sequence[Entry]) -> list[tuple[str, bytes]]:
    """Return what entries hold, to compare it."""
    return [pack(entry.record) for entry in entries]


async def begin(doing: Coroutine[None, None, list[Entry]]) -> asyncio.Task[list[Entry]]:
    """Start a reader in a task of its own, and let it make its first step."""
    task = asyncio.create_task(doing)
    await asyncio.sleep(0)
    return task


async def eventually(doing: Awaitable[list[Entry]]) -> list[Entry]:
    """Wait for a reader, but not for ever."""
    return await asyncio.wait_for(doing, PATIENCE)
