"""Replicas that share a log in Redis: pieces of a run come to any of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.features.recorder.test_route import RUN, WHOLE, lines
from tests.redis_server import RedisServer

from adk_prism.features.recorder.runs import LOST, RecordedRuns
from adk_prism.log.contract import RunLog
from adk_prism.log.coordination import Leases
from adk_prism.log.from_url import open_coordination, open_log
from adk_prism.runs.session_locks import SessionLocks


class Clock:
    """The monotonic clock of all replicas, which a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Replica:
    """What one process has."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.log: RunLog = open_log(url)
        coordination = open_coordination(url)
        self.leases: Leases = coordination.leases()
        self.marks = coordination.values()
        locks = SessionLocks(self.leases, "record")
        self.runs = RecordedRuns(
            self.log, locks, lambda _: None, most_bytes=10**6, marks=self.marks, clock=clock
        )

    async def send(self, body: bytes) -> int:
        return await self.runs.append(RUN, body, lambda origin: origin)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[list[Replica]]:
    server = RedisServer(tmp_path)
    try:
        async with AsyncExitStack() as stack:
            made = [Replica(server.url, CLOCK) for _ in range(2)]
            for each in made:
                for part in (each.log, each.leases, each.marks):
                    await part.open()
                    stack.push_async_callback(part.close)
            yield made
    finally:
        server.kill()


CLOCK = Clock()


async def test_pieces_come_to_any_replica(replicas: list[Replica]) -> None:
    """Each is stored once, also one that was sent to both; the reader of one sees what the other took."""
    one, two = replicas
    assert await one.send(lines(WHOLE[:1])) == 1
    assert await two.send(lines(WHOLE[:2])) == 2
    assert await one.send(lines(WHOLE[1:3], 2)) == 3
    assert await two.send(lines(WHOLE[2:], 3)) == 4
    assert await one.send(lines(WHOLE)) == 4
    found = [entry.record async for batch in one.log.read(RUN, follow=True) for entry in batch]
    assert found[1:] == WHOLE[1:]


async def test_a_sign_of_life_counts_wherever_it_comes(replicas: list[Replica]) -> None:
    """The process that looks for lost recorders has not heard of this one itself."""
    one, two = replicas
    await one.send(lines(WHOLE[:2]))
    await two.runs.settle()
    for _ in range(3):
        CLOCK.now += LOST - 1
        await one.send(b"")
        await two.runs.settle()
    CLOCK.now += LOST - 1
    await two.runs.settle()
    assert (await one.log.summary(RUN)).outcome is None
    CLOCK.now += 1
    await two.runs.settle()
    assert (await one.log.summary(RUN)).outcome == "failed"
