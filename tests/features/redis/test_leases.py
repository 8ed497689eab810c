"""Leases: one owner at a time, a new epoch with each, and nothing is sure that was not renewed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.log.stores import cluster
from tests.patience import PATIENCE
from tests.redis_server import RedisServer

from adk_prism.errors import Conflict, Fenced, LogError
from adk_prism.features.redis.leases import LONGEST_BLOCK, RedisLeases
from adk_prism.features.redis.store import RedisLog
from adk_prism.log.coordination import Lease
from adk_prism.testing.runlog_steps import END, RUN, event, start

TTL = 3.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    if server.process.poll() is None:
        server.kill()


@pytest.fixture
async def two(server: RedisServer) -> AsyncIterator[list[RedisLeases]]:
    """The leases of two processes."""
    async with AsyncExitStack() as stack:
        both = [RedisLeases(server.url, ttl=TTL) for _ in "ab"]
        for leases in both:
            await leases.open()
            stack.push_async_callback(leases.close)
        yield both


@pytest.fixture
async def log(server: RedisServer) -> AsyncIterator[RedisLog]:
    log = RedisLog(server.url)
    await log.open()
    await log.append(RUN, [start(), event(1)])
    await log.commit(RUN)
    yield log
    await log.close()


def fall_silent(leases: RedisLeases) -> None:
    """Renew nothing any more, as a process that is stopped."""
    assert leases._renewal is not None
    leases._renewal._stopped.set()
    leases._renewal._thread.join()


async def wake_up(leases: RedisLeases) -> None:
    """Renew once, as a process that goes on."""
    renewal = leases._new_renewal()
    await asyncio.to_thread(renewal.renew)
    await asyncio.to_thread(renewal.stop)
    await asyncio.sleep(0)


async def lapsed(leases: RedisLeases, log: RedisLog) -> None:
    """Wait until the run has no owner."""
    async with asyncio.timeout(PATIENCE):
        while RUN not in await leases.ownerless(log):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.05)  # between two looks


async def test_one_has_it(two: list[RedisLeases]) -> None:
    """Whoever is second gets it when it is given back, and is told so."""
    one, other = two
    lease = await one.hold("session")
    assert lease is not None
    assert lease.is_sure
    assert await other.is_held("session")
    assert await other.hold("session") is None
    waiting = asyncio.create_task(other.freed("session", PATIENCE))
    await asyncio.sleep(0)  # a turn of the loop, in which it begins to wait
    await one.release(lease)
    await asyncio.wait_for(waiting, PATIENCE)
    assert await other.hold("session") is not None


@pytest.mark.parametrize("kind", ["alone", "cluster"])
async def test_others_that_take_new_work_are_known(server: RedisServer, kind: str) -> None:
    """Those that are there and do not go down themselves; none where Redis does not answer."""
    url = server.url if kind == "alone" else cluster().url
    three = [RedisLeases(url, prefix="others", ttl=TTL) for _ in "abc"]
    for leases in three:
        await leases.open()
    assert await three[0].has_others()
    assert await three[1].has_others()
    assert not await three[2].has_others()
    server.kill()
    if kind == "alone":
        assert not await three[0].has_others()
    for leases in three:
        await leases.close()


async def test_it_is_kept_while_its_process_lives(two: list[RedisLeases]) -> None:
    """For longer than it lasts."""
    one, other = two
    lease = await one.hold("session")
    assert lease is not None
    first = lease.until
    async with asyncio.timeout(PATIENCE):
        while lease.until < first + 1.5 * TTL:
            await lease._changed.wait()
    assert lease.is_sure
    assert await other.hold("session") is None


async def test_a_run_without_an_owner(two: list[RedisLeases], log: RedisLog) -> None:
    """Is claimed once, with a new epoch; who owned it before finds out, and can write nothing."""
    one, other = two
    lease = await one.begin(RUN)
    with pytest.raises(Conflict):
        await other.begin(RUN)
    assert await other.claim(await log.summary(RUN)) is None
    assert await other.ownerless(log) == []
    lost = asyncio.Event()
    lease.on_lost = lost.set
    fall_silent(one)
    await lapsed(other, log)
    assert not lease.is_sure, "what was not renewed in time is not sure"
    summary = await log.summary(RUN)
    claims = await asyncio.gather(*(other.claim(summary) for _ in range(5)))
    [claimed] = [claim for claim in claims if claim is not None]
    assert claimed.epoch == 1
    await log.append(RUN, [event(2)])
    with pytest.raises(Fenced):
        await log.commit(RUN)
    asking = asyncio.create_task(lease.sure())
    await wake_up(one)  # the process wakes up
    assert lost.is_set()
    with pytest.raises(Fenced):
        await asking


async def test_a_lease_that_lapsed_and_that_nobody_took(
    two: list[RedisLeases], log: RedisLog
) -> None:
    """Is taken again: the run goes on where it is."""
    one, other = two
    lease = await one.begin(RUN)
    fall_silent(one)
    await lapsed(other, log)
    waiting = asyncio.create_task(lease.sure())
    await wake_up(one)
    await asyncio.wait_for(waiting, PATIENCE)
    assert lease.is_sure
    assert await other.claim(await log.summary(RUN)) is None


async def test_what_has_ended_is_not_claimed(two: list[RedisLeases], log: RedisLog) -> None:
    """It needs no owner."""
    await log.append(RUN, [END])
    await log.commit(RUN)
    assert await two[0].ownerless(log) == []
    assert await two[0].claim(await log.summary(RUN)) is None


async def test_while_redis_is_away_nothing_is_lost(
    server: RedisServer, two: list[RedisLeases]
) -> None:
    """It is not sure either; when Redis is back, it is again."""
    lease = await two[0].hold("session")
    assert lease is not None
    server.kill()
    async with asyncio.timeout(PATIENCE):
        while lease.is_sure:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.05)  # between two looks
    with pytest.raises(LogError, match="no connection"):
        await two[1].hold("session")
    server.restart()
    await asyncio.wait_for(lease.sure(), PATIENCE)


async def test_words_reach_everybody(two: list[RedisLeases]) -> None:
    """Who said it too."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    for leases in two:
        leases.listen("cancel", heard.put_nowait)
    await two[0].say("cancel", "run-1")
    assert [await asyncio.wait_for(heard.get(), PATIENCE) for _ in two] == ["run-1", "run-1"]


async def test_a_lease_of_one_process_is_always_sure() -> None:
    """Until somebody says that it is lost."""
    lease = Lease("session")
    await lease.sure()
    lease.lose()
    with pytest.raises(Fenced):
        await lease.sure()


async def test_a_blocked_loop_keeps_its_leases(two: list[RedisLeases], log: RedisLog) -> None:
    """A synchronous function of an agent is no dead process; what it held is sure when it returns."""
    one, other = two
    lease = await one.begin(RUN)
    time.sleep(2 * TTL)  # noqa: ASYNC251 - what is tested
    assert lease.is_sure
    assert await other.claim(await log.summary(RUN)) is None


async def test_a_loop_that_is_blocked_for_ever_loses_them(
    two: list[RedisLeases], log: RedisLog
) -> None:
    """After a time that no tool takes, another process goes on."""
    one, other = two
    await one.begin(RUN)
    assert one._renewal is not None
    one._tasks[0].cancel()  # it no longer says that the loop turns
    one._renewal._turned -= LONGEST_BLOCK
    await lapsed(other, log)
