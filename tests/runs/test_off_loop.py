"""Long and large runs are read in turns with everything else, whoever reads them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest
from tests.runs.sources import HERE

from adk_prism.features.model_calls.writer import append_foreign, small_batches
from adk_prism.log.entry import AgentEvent, Entry, Position, RunEnded, RunId, RunStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.registry import protocol
from adk_prism.runs import off_loop
from adk_prism.runs.broadcast import Broadcaster, positioned_frames
from adk_prism.runs.chats import Chats
from adk_prism.runs.off_loop import LARGE, feed_one, feed_run

EVENTS = 300
OVER, ON = RunId("over"), RunId("on")
FORMAT = protocol("ai-sdk").format("")


def event(number: int) -> AgentEvent:
    content = b'{"role":"model","parts":[{"text":"word"}]}'
    return AgentEvent(
        b'{"id":"e%d","invocationId":"i","author":"a","content":%b}' % (number, content)
    )


@pytest.fixture
async def log(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryLog]:
    """A log of a run that is over and one that goes on, read by somebody for whom everything takes long."""
    monkeypatch.setattr(off_loop, "STEP", 0.0)
    made = MemoryLog()
    await made.open()
    for run in (OVER, ON):
        await made.append(run, [RunStarted(run=run, origin=HERE), *map(event, range(EVENTS))])
    await made.append(OVER, [RunEnded(outcome="finished")])
    for run in (OVER, ON):
        await made.commit(run)
    yield made
    await made.close()


async def _replay(log: MemoryLog) -> None:
    view = await Broadcaster(log).open(OVER, FORMAT)
    async with aclosing(view.chunks()) as chunks:
        assert b"[DONE]" in b"".join([data async for data in chunks])


async def _resume_at_the_end(log: MemoryLog) -> None:
    view = await Broadcaster(log).open(OVER, FORMAT, Position(EVENTS + 2))
    assert view.nothing_left


async def _join_late(log: MemoryLog) -> None:
    view = await Broadcaster(log).open(ON, FORMAT)
    async with aclosing(view.chunks()) as chunks:
        seen = b""
        while seen.count(b"word") < EVENTS:
            seen += await anext(chunks)


async def _one_by_one(log: MemoryLog) -> None:
    async with aclosing(positioned_frames(log, OVER, FORMAT)) as frames:
        assert [frame async for frame in frames]


async def _entries(log: MemoryLog) -> None:
    assert len([entry async for entry in Chats(log).entries(OVER)]) == EVENTS + 2


async def _feed(log: MemoryLog) -> None:
    fed: list[Entry] = []
    await feed_run(log, OVER, fed.append)
    assert len(fed) == EVENTS + 2


async def _upload(log: MemoryLog) -> None:
    large = AgentEvent(b'{"id":"%b"}' % (b"x" * LARGE))
    records = [RunStarted(run="new", origin=HERE), *[large] * EVENTS]
    entries = [Entry(cursor, 0.0, record) for cursor, record in enumerate(records, 1)]
    receipt = await append_foreign(log, None, RunId("new"), HERE, entries)
    assert receipt.cursor == EVENTS + 1


@pytest.mark.parametrize(
    "read",
    [_replay, _resume_at_the_end, _join_late, _one_by_one, _entries, _feed, _upload],
    ids=lambda read: read.__name__.strip("_"),
)
async def test_others_have_their_turns(
    log: MemoryLog, read: Callable[[MemoryLog], Awaitable[None]]
) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await read(log)
    beside.cancel()
    assert turns >= EVENTS


async def test_a_large_entry_is_read_in_a_thread() -> None:
    small, large = (Entry(2, 0.0, AgentEvent(b"x" * size)) for size in (LARGE - 1, LARGE))
    here = threading.get_ident()
    assert await feed_one(small, lambda _: threading.get_ident()) == here
    assert await feed_one(large, lambda _: threading.get_ident()) != here


def test_batches_are_small_and_in_order() -> None:
    sizes = (10, LARGE, 10, LARGE // 2, LARGE // 2, LARGE * 3, 10)
    entries = [Entry(n, 0.0, AgentEvent(b"x" * size)) for n, size in enumerate(sizes, 1)]
    found = [[entry.cursor for entry in batch] for batch in small_batches(entries)]
    assert found == [[1], [2], [3, 4], [5], [6], [7]]
