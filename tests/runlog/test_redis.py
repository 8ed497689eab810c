"""What a run log in Redis does that others need not: several processes, and a Redis that goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from redis.asyncio import Redis
from tests.redis_server import RedisServer
from tests.runlog.cutting_proxy import CuttingProxy

from adk_prism.errors import Fenced, Gone, LogError
from adk_prism.runlog.entry import RunEnded, RunTakenOver
from adk_prism.runlog.redis import RedisLog
from adk_prism.testing.runlog_steps import END, ORIGIN, RUN, collect, event, events, start

PATIENCE = 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture
async def logs(server: RedisServer) -> AsyncIterator[list[RedisLog]]:
    """Three processes' logs on one Redis."""
    async with AsyncExitStack() as stack:
        logs = [RedisLog(server.url) for _ in range(3)]
        for log in logs:
            await log.open()
            stack.push_async_callback(log.close)
        yield logs


async def test_others_follow_as_it_is_written(logs: list[RedisLog]) -> None:
    """One writes, all see the same, from wherever they begin."""
    writer, *readers = logs
    await writer.append(RUN, [start()])
    await writer.commit(RUN)
    following = [
        asyncio.create_task(collect(log, after=after, follow=True))
        for log in (writer, *readers)
        for after in (0, 1)
    ]
    for number in range(300):
        await writer.append(RUN, [event(number)])
        if number % 50 == 0:
            await asyncio.sleep(0.03)
    await writer.append(RUN, [END])
    seen = await asyncio.wait_for(asyncio.gather(*following), PATIENCE)
    whole = await collect(readers[0])
    assert [entry.cursor for entry in whole] == list(range(1, 303))
    assert [entries for entries in seen] == [whole, whole[1:]] * 3


async def test_whoever_takes_over_goes_on_and_the_old_owner_cannot(logs: list[RedisLog]) -> None:
    """Nothing of the old owner is added after that, and those who follow it see the new one's."""
    old, new, reader = logs
    await old.append(RUN, [start(), event(1)])
    await old.commit(RUN)
    following = [
        asyncio.create_task(collect(log, follow=True)) for log in (old, new, reader) for _ in "ab"
    ]
    await new.append(RUN, [RunTakenOver(epoch=1)], epoch=1)
    await new.commit(RUN)
    await old.append(RUN, [event(2)])
    with pytest.raises(Fenced):
        await old.commit(RUN)
    with pytest.raises(Fenced):
        await old.append(RUN, [event(3)])
    await new.append(RUN, [event(4), END], epoch=1)
    seen = await asyncio.wait_for(asyncio.gather(*following), PATIENCE)
    whole = await collect(reader)
    expected = [start(), event(1), RunTakenOver(epoch=1), event(4), END]
    assert [entry.record for entry in whole] == expected
    assert all(entries == whole for entries in seen)
    assert (await old.summary(RUN)).epoch == 1


async def test_two_who_write_without_a_new_epoch_do_not_mix(logs: list[RedisLog]) -> None:
    """The second finds that somebody wrote in between, and adds nothing."""
    one, two, reader = logs
    await one.append(RUN, [start()])
    await one.commit(RUN)
    await two.append(RUN, [event(1)])
    await two.commit(RUN)
    await one.append(RUN, [event(2)])
    with pytest.raises(LogError):
        await one.commit(RUN)
    assert [entry.record for entry in await collect(reader)] == [start(), event(1)]


async def test_what_one_deletes_is_gone_for_all(logs: list[RedisLog]) -> None:
    """The writer is told with its next append, a follower at once."""
    writer, other, _ = logs
    await writer.append(RUN, [start()])
    await writer.commit(RUN)
    following = asyncio.create_task(collect(other, follow=True))
    await asyncio.sleep(0.05)
    assert list(await other.delete_session(ORIGIN)) == [RUN]
    with pytest.raises(Gone):
        await asyncio.wait_for(following, PATIENCE)
    await writer.append(RUN, [event(1)])
    with pytest.raises(Gone):
        await writer.commit(RUN)
    with pytest.raises(Gone):
        await writer.summary(RUN)


async def test_a_redis_that_is_killed_and_comes_back(
    server: RedisServer, logs: list[RedisLog]
) -> None:
    """A run goes on over the gap: nothing that anybody saw is lost, nothing is there twice."""
    writer, reader, _ = logs
    await writer.append(RUN, [start(), *events(50)])
    await writer.commit(RUN)
    following = asyncio.create_task(collect(reader, follow=True))
    await asyncio.sleep(1.2)  # Longer than `appendfsync everysec` may hold it back.
    server.kill()
    for number in range(50, 100):
        await writer.append(RUN, [event(number)])
    await asyncio.sleep(0.3)
    server.restart()
    await writer.append(RUN, [END])
    await asyncio.wait_for(writer.commit(RUN), PATIENCE)
    seen = await asyncio.wait_for(following, PATIENCE)
    assert [entry.record for entry in seen] == [start(), *events(100), END]


async def test_a_batch_whose_answer_is_lost_is_not_added_twice(server: RedisServer) -> None:
    """The connection is cut after Redis has taken the entries, before it could say so."""
    async with CuttingProxy(server.port) as proxy:
        log = RedisLog(f"redis://127.0.0.1:{proxy.port}/0")
        await log.open()
        await log.append(RUN, [start()])
        await log.commit(RUN)
        for number in range(5):
            proxy.cut_next_answer()
            await log.append(RUN, [event(number)])
            await asyncio.wait_for(log.commit(RUN), PATIENCE)
        await log.append(RUN, [END])
        await log.commit(RUN)
        assert [entry.record for entry in await collect(log)] == [start(), *events(5), END]
        assert proxy.cuts == 5
        await log.close()


async def test_a_redis_that_is_full_says_so(server: RedisServer, logs: list[RedisLog]) -> None:
    """The run fails with a reason; when there is room again, its end can still be written."""
    log = logs[0]
    await log.append(RUN, [start()])
    await log.commit(RUN)
    async with Redis.from_url(server.url) as redis:
        await redis.config_set("maxmemory", "1mb")
        await log.append(RUN, [event(1)])
        with pytest.raises(LogError, match="Redis is full"):
            await log.commit(RUN)
        await redis.config_set("maxmemory", "0")
    await log.append(RUN, [RunEnded(outcome="failed", code="log_full")])
    await log.commit(RUN)
    assert [entry.cursor for entry in await collect(log)] == [1, 2]


async def test_a_redis_that_is_not_there(server: RedisServer) -> None:
    """One line."""
    with pytest.raises(LogError, match="no connection"):
        await RedisLog("redis://127.0.0.1:1/0").open()


async def test_a_redis_that_refuses_the_password(server: RedisServer) -> None:
    """One line, and no password in it."""
    async with Redis.from_url(server.url) as redis:
        await redis.config_set("requirepass", "right")
    with pytest.raises(LogError, match="does not accept the name or the password") as refused:
        await RedisLog(f"redis://:secret@127.0.0.1:{server.port}/0").open()
    assert "secret" not in str(refused.value)


async def test_a_newer_schema_is_refused(server: RedisServer) -> None:
    """Another prefix is another log."""
    async with Redis.from_url(server.url) as redis:
        await redis.set("prism:schema", 2)
    log = RedisLog(server.url)
    with pytest.raises(LogError, match="schema 2"):
        await log.open()
    other = RedisLog(server.url, prefix="mine")
    await other.open()
    await other.close()
