"""What a run log in Redis does that others need not: several processes, and a Redis that goes away."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from redis.asyncio import Redis
from tests.log.cutting_proxy import CuttingProxy
from tests.log.stores import cluster
from tests.patience import PATIENCE
from tests.redis_server import RedisServer

from adk_prism.errors import Fenced, Gone, LogError, LogUnavailable, SourceError
from adk_prism.features.redis.connection import DEFAULT_PREFIX, Keys, asking, memory_info
from adk_prism.features.redis.store import RedisLog
from adk_prism.features.search.digest import DIGEST_VERSION, RunDigest, RunQuery
from adk_prism.features.search.index import index_of
from adk_prism.log import group_commit
from adk_prism.log.entry import Entry, RunTakenOver
from adk_prism.runs.session_log import Deletions
from adk_prism.testing.runlog_steps import END, ORIGIN, RUN, collect, event, events, start


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


async def gather(log: RedisLog, seen: list[Entry]) -> None:
    """Follow a run into a list."""
    async for batch in log.read(RUN, follow=True):
        seen += batch


async def saw(seen: list[Entry], count: int) -> None:
    """Wait until so many entries have come."""
    async with asyncio.timeout(PATIENCE):
        while len(seen) < count:  # noqa: ASYNC110 - it may come from anywhere
            await asyncio.sleep(0)  # a turn of the loop for who reads


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
            await writer.commit(RUN)
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
    seen: list[Entry] = []
    following = asyncio.create_task(gather(other, seen))
    await saw(seen, 1)
    assert list(await other.delete(ORIGIN)) == [RUN]
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
    seen: list[Entry] = []
    following = asyncio.create_task(gather(reader, seen))
    await saw(seen, 51)
    server.kill()
    for number in range(50, 100):
        await writer.append(RUN, [event(number)])
    committing = asyncio.create_task(writer.commit(RUN))
    done, _ = await asyncio.wait([committing], timeout=0.3)
    assert not done, "nothing is committed while Redis is away"
    server.restart()
    await writer.append(RUN, [END])
    await asyncio.wait_for(writer.commit(RUN), PATIENCE)
    await asyncio.wait_for(following, PATIENCE)
    assert [entry.record for entry in seen] == [start(), *events(100), END]


async def test_connections_that_a_restart_has_closed(
    server: RedisServer, logs: list[RedisLog]
) -> None:
    """Each that is kept for later is found closed when it is used; who asks does not notice."""
    writer, reader, _ = logs
    await writer.append(RUN, [start()])
    await writer.commit(RUN)
    for outage in range(2):
        asked = await asyncio.gather(*(reader.summary(RUN) for _ in range(8)))
        assert [summary.cursor for summary in asked] == [1] * 8, f"after {outage} restarts"
        server.kill()
        server.restart()
    assert (await reader.summary(RUN)).cursor == 1


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


@pytest.mark.parametrize("is_long", [False, True], ids=["a while", "too long"])
async def test_a_redis_that_is_full(
    server: RedisServer, logs: list[RedisLog], monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    """It is waited for: once there is room, everything is stored. For too long, only ends are taken."""
    log = logs[0]
    await log.append(RUN, [start()])
    await log.commit(RUN)
    async with Redis.from_url(server.url) as redis:
        monkeypatch.setattr(group_commit, "PATIENCE", 0.3 if is_long else PATIENCE)
        await redis.config_set("maxmemory", "1mb")
        await log.append(RUN, [event(1)])
        committing = asyncio.create_task(log.commit(RUN))
        done, _ = await asyncio.wait([committing], timeout=PATIENCE if is_long else 0.3)
        assert bool(done) == is_long
        if is_long:
            with pytest.raises(LogUnavailable):
                await committing
            with pytest.raises(LogUnavailable):
                await log.append(RUN, [event(2)])
        await log.append(RUN, [END])
        await redis.config_set("maxmemory", "0")
    async with asyncio.timeout(PATIENCE):
        while (await logs[1].summary(RUN)).outcome is None:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.05)
    assert [entry.record for entry in await collect(log)] == [start(), event(1), END]


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


async def test_a_redis_that_is_too_old(server: RedisServer) -> None:
    """Which one there is, and which is needed."""
    async with Redis.from_url(server.url) as redis:
        version = (await redis.info("server"))["redis_version"].encode()
    told, old = b"redis_version:" + version, (b"redis_version:6.0." + b"9" * 9)
    old = old[: len(told)]
    async with CuttingProxy(server.port, instead=(told, old)) as proxy:
        with pytest.raises(LogError, match=r"Redis 6\.0\.\d* is too old; expected 6\.2"):
            await RedisLog(f"redis://127.0.0.1:{proxy.port}/0").open()


async def test_a_redis_that_only_reads(server: RedisServer, tmp_path: Path) -> None:
    """A replica is none to write to."""
    folder = tmp_path / "replica"
    folder.mkdir()
    replica = RedisServer(folder)
    try:
        async with Redis.from_url(replica.url) as redis:
            await redis.replicaof("127.0.0.1", server.port)
        with pytest.raises(LogError, match="Redis is read-only"):
            await RedisLog(replica.url).open()
    finally:
        replica.kill()


async def test_a_failover(server: RedisServer, logs: list[RedisLog]) -> None:
    """A Redis that is read-only for a while is waited for: the run goes on, for all who follow it."""
    writer, reader, _ = logs
    await writer.append(RUN, [start()])
    await writer.commit(RUN)
    following = asyncio.create_task(collect(reader, follow=True))
    async with Redis.from_url(server.url) as redis:
        await redis.replicaof("127.0.0.1", 1)
        await writer.append(RUN, [event(1)])
        committing = asyncio.create_task(writer.commit(RUN))
        done, _ = await asyncio.wait([committing], timeout=0.3)
        assert not done
        await redis.replicaof("NO", "ONE")
    await asyncio.wait_for(committing, PATIENCE)
    await writer.append(RUN, [END])
    seen = await asyncio.wait_for(following, PATIENCE)
    assert [entry.record for entry in seen] == [start(), event(1), END]


async def test_a_redis_that_is_slow(server: RedisServer) -> None:
    """Every answer takes a tenth of a second: what is appended meanwhile goes out together."""
    async with CuttingProxy(server.port, delay=0.1) as proxy:
        log = RedisLog(f"redis://127.0.0.1:{proxy.port}/0")
        await log.open()
        await log.append(RUN, [start()])
        following = asyncio.create_task(collect(log, follow=True))
        for number in range(500):
            await log.append(RUN, [event(number)])
        await log.append(RUN, [END])
        await asyncio.wait_for(log.commit(RUN), PATIENCE)
        seen = await asyncio.wait_for(following, PATIENCE)
        assert [entry.cursor for entry in seen] == list(range(1, 503))
        await log.close()


async def test_a_redis_that_does_not_answer(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections, and says nothing: that is told, and the owner gives up. What was sent to it may
    have arrived all the same: whoever takes the run over finds it."""
    monkeypatch.setattr(group_commit, "PATIENCE", 3.0)
    url = f"{server.url}?socket_timeout=3"
    log = RedisLog(url)
    await log.open()
    await log.append(RUN, [start()])
    await log.commit(RUN)
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(LogError, match="does not answer in time"):
            await asyncio.wait_for(RedisLog(url).open(), PATIENCE)
        await log.append(RUN, [event(1)])
        with pytest.raises(LogUnavailable):
            await asyncio.wait_for(log.commit(RUN), PATIENCE)
    finally:
        server.process.send_signal(signal.SIGCONT)
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await log.append(RUN, [RunTakenOver(epoch=1), END], epoch=1)
                break
            except LogUnavailable:
                await asyncio.sleep(0.05)
    await asyncio.wait_for(log.commit(RUN), PATIENCE)
    kept = [entry.record for entry in await collect(log)]
    assert kept in ([start(), *rest, RunTakenOver(epoch=1), END] for rest in ([], [event(1)]))
    await log.close()


async def test_who_follows_waits_for_redis(server: RedisServer, logs: list[RedisLog]) -> None:
    """Also one that has to read what memory does not hold: a pause, and no end."""
    writer, reader = logs[0], RedisLog(server.url)
    reader.tail_bytes = 1
    await reader.open()
    await writer.append(RUN, [start(), *events(2000)])
    await writer.commit(RUN)
    reading = reader.read(RUN, follow=True)
    seen = list(await anext(reading))
    server.kill()
    going_on = asyncio.create_task(anext(reading))
    done, _ = await asyncio.wait([going_on], timeout=0.3)
    assert not done
    server.restart()
    seen += await asyncio.wait_for(going_on, PATIENCE)
    assert [entry.cursor for entry in seen] == list(range(1, len(seen) + 1))
    await reading.aclose()
    await reader.close()


async def test_two_installations_on_one_redis(server: RedisServer) -> None:
    """Two prefixes are two logs: the same run twice, and no word from one to the other."""
    logs = [RedisLog(server.url, prefix=name) for name in ("blue", "green")]
    for log in logs:
        await log.open()
    await logs[0].append(RUN, [start(), event(1), END])
    await logs[1].append(RUN, [start()])
    for log in logs:
        await log.commit(RUN)
    assert [(await log.summary(RUN)).cursor for log in logs] == [3, 1]
    assert await logs[0].delete(ORIGIN) == [RUN]
    assert (await logs[1].summary(RUN)).cursor == 1
    for log in logs:
        await log.close()


async def test_an_entry_of_a_newer_version(server: RedisServer, logs: list[RedisLog]) -> None:
    """It is refused, not skipped: for who reads, and for who follows when it comes."""
    writer, reader, _ = logs
    await writer.append(RUN, [start()])
    await writer.commit(RUN)
    following = asyncio.create_task(collect(reader, follow=True))
    async with Redis.from_url(server.url) as redis:
        keys = Keys(DEFAULT_PREFIX).run(RUN)
        await redis.xadd(keys.entries, {"k": "RunHalved", "t": "1.0", "d": "{}"}, id="2-1")
        await redis.hset(keys.head, "cursor", "2")
        await redis.publish(Keys(DEFAULT_PREFIX).channel(RUN), "2")
    with pytest.raises(SourceError, match="RunHalved"):
        await asyncio.wait_for(following, PATIENCE)
    with pytest.raises(SourceError, match="RunHalved"):
        await collect(reader)


@pytest.mark.parametrize("takes", ["another process", "this process"])
async def test_who_follows_an_owner_that_gave_up(logs: list[RedisLog], takes: str) -> None:
    """Goes on with the next one: an owner that lost its lease writes nothing, and hears of nothing."""
    old, other, _ = logs
    await old.append(RUN, [start()])
    await old.commit(RUN)
    seen: list[Entry] = []
    following = asyncio.create_task(gather(old, seen))
    await saw(seen, 1)
    if takes == "another process":
        await old.leave(RUN)
    new = other if takes == "another process" else old
    await new.append(RUN, [RunTakenOver(epoch=1), event(1), END], epoch=1)
    await asyncio.wait_for(following, PATIENCE)
    assert [entry.cursor for entry in seen] == [1, 2, 3, 4]
    assert (await old.summary(RUN)).outcome == "finished"


POLICIES = [
    ("noeviction", "100mb", ""),
    ("allkeys-lru", "100mb", "refused"),
    ("allkeys-random", "100mb", "refused"),
    ("allkeys-lru", "0", "warned"),
    ("volatile-lru", "100mb", "warned"),
]


@pytest.mark.parametrize(("policy", "limit", "result"), POLICIES)
async def test_a_redis_that_removes_keys(
    server: RedisServer, policy: str, limit: str, result: str
) -> None:
    """One that would remove runs is refused; one that could, or would remove leases, is told of."""
    async with Redis.from_url(server.url) as redis:
        await redis.config_set("maxmemory", limit)
        await redis.config_set("maxmemory-policy", policy)
    told: list[str] = []
    log = RedisLog(server.url, warn=told.append)
    if result == "refused":
        with pytest.raises(LogError, match=f"{policy}.*noeviction"):
            await log.open()
    else:
        await log.open()
        await log.close()
    assert [policy in each for each in told] == ([True] if result == "warned" else [])


async def test_the_nodes_of_a_cluster_say_whether_they_remove_keys() -> None:
    """Each of them is asked."""
    async with asking(cluster().url) as redis:
        told = await memory_info(redis, is_cluster=True)
    assert [each["maxmemory_policy"] for each in told] == ["noeviction"] * 3


async def test_what_is_said_later_is_known_to_all(logs: list[RedisLog]) -> None:
    """A digest that one process replaces is found by another that had read it; so is a deletion."""
    writer, reader, _ = logs
    await writer.append(RUN, [start(), END])
    await writer.commit(RUN)
    writing, *others = (index_of(log) for log in (writer, reader))
    for word in ("up", "down", "up"):
        await writing.index(RUN, RunDigest(names={"feedback": [word]}, version=DIGEST_VERSION))
        for search in (*others, writing):
            page = await search.search(RunQuery(names={"feedback": word}), limit=5)
            assert [each.summary.run for each in page.found] == [RUN]
    await Deletions(writer).delete(ORIGIN, "user")
    with pytest.raises(Gone):
        await Deletions(reader).check(ORIGIN)
    await Deletions(writer).forget(ORIGIN)
    await Deletions(reader).check(ORIGIN)
