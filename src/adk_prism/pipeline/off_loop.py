"""Work on the entries of a run in steps that never hold up the event loop for long.

Decides what is done where: a few small entries on the loop, with a pause after each batch; larger ones in a
thread, where Python lets the loop have its turn every few milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from adk_prism.runlog.contract import LogReader
from adk_prism.runlog.entry import AgentEvent, ChildEvent, Entry, RunId, RunStarted

LARGE = 128 * 1024
"""Bytes of a batch that are worth a thread: some milliseconds of work. To start it costs a tenth of one."""

_OTHER = 500
"""Bytes that any other record has, about."""


async def feed_run(
    log: LogReader, run: RunId, feed: Callable[[Entry], object], after: int = 0
) -> None:
    """Feed the committed entries of a run, from behind a cursor on. Raise what the log or `feed` raises."""
    async with aclosing(log.read(run, after)) as batches:
        async for batch in batches:
            await feed_batch(batch, feed)


async def feed_batch(batch: Sequence[Entry], feed: Callable[[Entry], object]) -> None:
    """Feed some entries, in a thread if there is much in them."""
    if sum(map(_size, batch)) < LARGE:
        for entry in batch:
            feed(entry)
        await asyncio.sleep(0)  # a long run is read in turns with everything else
    else:
        await asyncio.to_thread(_feed_all, batch, feed)


def _feed_all(batch: Sequence[Entry], feed: Callable[[Entry], object]) -> None:
    for entry in batch:
        feed(entry)


def _size(entry: Entry) -> int:
    record = entry.record
    if isinstance(record, AgentEvent | ChildEvent):
        return len(record.event)
    if isinstance(record, RunStarted):
        return len(record.message) + sum(map(len, record.state.values()))
    return _OTHER
