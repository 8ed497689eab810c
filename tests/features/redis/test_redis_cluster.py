"""A cluster of Redis: what one script touches is in one slot, and leases and logs work over several nodes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from redis.crc import key_slot
from tests.log.stores import cluster
from tests.patience import PATIENCE
from tests.redis_server import RedisServer

from adk_prism.errors import Conflict, LogError
from adk_prism.features.redis.connection import Keys
from adk_prism.features.redis.leases import RedisLeases
from adk_prism.features.redis.store import RedisLog
from adk_prism.log.entry import RunId, RunTakenOver
from adk_prism.testing.runlog_steps import END, collect, event, start

RUNS = ["run-1", "run-0123456789abcdef01234567", "a:b", "a}b", "a{b", "é"]


@pytest.mark.parametrize("run", RUNS)
def test_the_keys_of_a_run_share_a_slot(run: str) -> None:
    """Scripts take the keys of one run, or one other key."""
    keys = Keys("prism")
    named = [*keys.run(RunId(run)), keys.lease(RunId(run))]
    assert len({key_slot(name.encode()) for name in named}) == 1


async def test_an_owner_is_replaced() -> None:
    """Many runs, over all nodes: begun, left, claimed with a new epoch, and ended; who follows sees all."""
    url, prefix = cluster().url, "owners"
    log, other = (RedisLog(url, prefix=prefix) for _ in "ab")
    one, two = (RedisLeases(url, prefix=prefix, ttl=1.0) for _ in "ab")
    for part in (log, other, one, two):
        await part.open()
    runs = [RunId(f"run-{number}") for number in range(12)]
    begun = [await one.begin(run) for run in runs]
    for run in runs:
        await log.append(run, [start(run=run), event(1)])
        await log.commit(run)
    following = [asyncio.create_task(collect(other, run, follow=True)) for run in runs]
    with pytest.raises(Conflict):
        await two.begin(runs[0])
    heard = asyncio.Event()
    two.listen("left", lambda _: heard.set())
    for lease in begun:
        await one.release(lease)
    await one.say("left", runs[0])
    await asyncio.wait_for(heard.wait(), PATIENCE)
    assert sorted(await two.ownerless(other)) == sorted(runs)
    for run in runs:
        claimed = await two.claim(await other.summary(run))
        assert claimed is not None
        await other.append(run, [RunTakenOver(epoch=1), END], epoch=claimed.epoch)
        await other.commit(run)
    seen = await asyncio.wait_for(asyncio.gather(*following), PATIENCE)
    assert all([entry.cursor for entry in entries] == [1, 2, 3, 4] for entries in seen)
    assert [summary.run for summary in await log.list()] == runs
    for part in (two, one, other, log):
        await part.close()


async def test_a_node_that_is_named_as_a_redis() -> None:
    """How it is to be named."""
    url = cluster().url.replace("+cluster", "")
    with pytest.raises(LogError, match=r"redis\+cluster://"):
        await RedisLog(url).open()


async def test_a_redis_that_is_named_as_a_cluster(tmp_path: Path) -> None:
    """It is none."""
    server = RedisServer(tmp_path)
    try:
        with pytest.raises(LogError, match="not a cluster"):
            await RedisLog(server.url.replace("redis:", "redis+cluster:")).open()
    finally:
        server.kill()
