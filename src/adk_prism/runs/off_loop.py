"""Work on the entries of a run in steps that never hold up the event loop for long.

Decides what is done where: small entries on the loop, which has a turn after some milliseconds; larger ones
in a thread, where Python lets the loop have its turn every few milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from time import monotonic
from typing import ParamSpec, TypeVar

from adk_prism.log.contract import LogReader
from adk_prism.log.entry import AgentEvent, ChildEvent, Entry, RunId, RunStarted

LARGE = 128 * 1024
"""Bytes of a batch that are worth a thread: some milliseconds of work. To start it costs a tenth of one."""

_OTHER = 500
"""Bytes that any other record has, about."""

STEP = 0.01
"""Seconds of work on the loop, after which everything else has a turn. A turn costs some microseconds."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Turns:
    """Tells work on the loop when it has taken long enough to let everything else have a turn."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = monotonic() + STEP

    @property
    def is_over(self) -> bool:
        """Whether the loop should have its turn now."""
        return monotonic() >= self._until

    async def next(self) -> None:
        """Give the loop its turn."""
        await asyncio.sleep(0)
        self._until = monotonic() + STEP


async def read_in_turns(
    log: LogReader, run: RunId, after: int = 0, *, follow: bool = False
) -> AsyncGenerator[Entry, None]:
    """Yield the entries of a run, from behind a cursor on; the loop has its turns between them.

    Raise what the log raises.
    """
    turns = Turns()
    async with aclosing(log.read(run, after, follow=follow)) as batches:
        async for batch in batches:
            for entry in batch:
                yield entry
                if turns.is_over:
                    await turns.next()


async def read_head(log: LogReader, run: RunId) -> RunStarted:
    """Return how a run began. Raise `NotFound` or `Gone`."""
    async with aclosing(log.read(run)) as batches:
        async for batch in batches:
            head = batch[0].record
            assert isinstance(head, RunStarted), "every log begins with its RunStarted"
            return head
    raise AssertionError("a run that is there has entries")


async def feed_one(entry: Entry, feed: Callable[[Entry], _Result]) -> _Result:
    """Return what `feed` makes of an entry: in a thread if it is large."""
    return await call_sized(size_of(entry), feed, entry)


async def call_sized(
    size: int,
    function: Callable[_Arguments, _Result],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    """Call a function that works on so many bytes: in a thread if they are many."""
    if size < LARGE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


def is_large(batch: Sequence[Entry]) -> bool:
    """Return whether to read some entries takes more than a few milliseconds."""
    return sum(map(size_of, batch)) >= LARGE


async def feed_run(
    log: LogReader, run: RunId, feed: Callable[[Entry], object], after: int = 0
) -> None:
    """Feed the committed entries of a run, from behind a cursor on. Raise what the log or `feed` raises."""
    async with aclosing(log.read(run, after)) as batches:
        async for batch in batches:
            await feed_batch(batch, feed)


async def feed_batch(batch: Sequence[Entry], feed: Callable[[Entry], object]) -> None:
    """Feed some entries, in a thread if there is much in them."""
    if is_large(batch):
        await asyncio.to_thread(_feed_all, batch, feed)
        return
    turns = Turns()
    for entry in batch:
        feed(entry)
        if turns.is_over:
            await turns.next()
    await turns.next()  # a long run is read in turns with everything else


def _feed_all(batch: Sequence[Entry], feed: Callable[[Entry], object]) -> None:
    for entry in batch:
        feed(entry)


def size_of(entry: Entry) -> int:
    record = entry.record
    if isinstance(record, AgentEvent | ChildEvent):
        return len(record.event)
    if isinstance(record, RunStarted):
        return len(record.message) + sum(map(len, record.state.values()))
    return _OTHER
