"""Budgets of several replicas: counted in Redis, once for each run, whoever ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.adk.scripted import call
from tests.cluster.replica import begin, ended, replica, vanish
from tests.features.budgets.spending import TOTAL, Spending, say, used
from tests.log.stores import STORES, cluster
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.local_server import agent

from adk_prism.errors import LogError
from adk_prism.features.budgets.sums import StoredSums
from adk_prism.features.redis.leases import RedisSums
from adk_prism.log.coordination import Charge, DaySums, OverSum

DAY = "2026-01-01"
ANN, APP = '["ann",""]', '["","app"]'


@pytest.fixture(params=["memory", "sqlite", "redis", "redis_cluster"])
async def sums(request: pytest.FixtureRequest, redis: RedisServer) -> AsyncIterator[DaySums]:
    """The sums of every kind of store."""
    prefix = f"sums-{time.monotonic_ns()}"
    if request.param.startswith("redis"):
        made = RedisSums(redis.url if request.param == "redis" else cluster().url, prefix=prefix)
        yield made
        await made.close()
        return
    [opened] = [each for each in STORES if each.__name__ == request.param]
    with opened() as store:
        log = store.log()
        await log.open()
        yield StoredSums(log.side)
        await log.close()


async def test_sums_are_added_together_or_not_at_all(sums: DaySums) -> None:
    """A sum that has reached its most lets nothing be added anywhere; days are apart."""
    both = [
        Charge(ANN, {"runs": 1}, {"runs": 2}),
        Charge(APP, {"runs": 1, "cost": 7}, {"cost": 20}),
    ]
    assert await sums.charge(DAY, both) is None
    assert await sums.charge(DAY, both) is None
    assert await sums.charge(DAY, both) == OverSum(ANN, "runs")
    assert await sums.charge(DAY, both[::-1]) == OverSum(ANN, "runs")
    assert list(await sums.read(DAY, [ANN, APP, "[]"])) == [
        {"runs": 2},
        {"runs": 2, "cost": 14},
        {},
    ]
    assert await sums.charge(DAY, [Charge(APP, {"cost": 10**15}, {"cost": 15})]) is None
    assert await sums.charge(DAY, [Charge(APP, {}, {"cost": 10**15})]) == OverSum(APP, "cost")
    assert await sums.charge(DAY, [Charge(ANN, {"runs": -1})]) is None
    assert list(await sums.read(DAY, [ANN])) == [{"runs": 1}]
    assert await sums.charge(DAY, [Charge(ANN, {"runs": 1}, {"runs": 0})]) == OverSum(ANN, "runs")
    assert await sums.charge("2026-01-02", both) is None
    assert list(await sums.read("2026-01-02", [ANN, APP])) == [{"runs": 1}, {"runs": 1, "cost": 7}]


async def test_many_at_once_get_no_more_than_there_is(sums: DaySums) -> None:
    """Exactly so many."""
    one = [Charge(ANN, {"runs": 1}, {"runs": 7})]
    await sums.read(DAY, [ANN])
    answers = await asyncio.gather(*(sums.charge(DAY, one) for _ in range(30)))
    assert sum(answer is None for answer in answers) == 7


async def test_a_charge_that_is_repeated_is_made_once(redis: RedisServer) -> None:
    """As after an answer that got lost."""
    prefix = f"sums-{time.monotonic_ns()}"
    one, other = (RedisSums(redis.url, prefix=prefix) for _ in "ab")
    for each in (one, other, one):
        assert await each.charge(DAY, [Charge(ANN, {"tokens": 5})], once="run-1") is None
    assert await other.charge(DAY, [Charge(ANN, {"tokens": 5})], once="run-2") is None
    assert list(await one.read(DAY, [ANN])) == [{"tokens": 10}]
    redis.kill()
    for asked in (one.charge(DAY, []), one.read(DAY, [ANN])):
        with pytest.raises(LogError, match="Budgets cannot be"):
            await asked
    await one.close()
    await other.close()


BUDGET = ("caller runs=3 tokens=1M",)


async def test_replicas_count_together(redis: RedisServer, tmp_path: Path) -> None:
    """What one has let in the other does not."""
    async with (
        replica(agent(Spending()), redis, tmp_path, budget=BUDGET) as one,
        replica(agent(Spending()), redis, tmp_path, budget=BUDGET) as two,
    ):
        answers = [await say(server, f"{n}") for n in range(2) for server in (one, two)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        await used(one)
        assert await used(two) == [{"runs": 3, "tokens": 3 * TOTAL}]


@pytest.mark.parametrize("resumable", [True, False])
async def test_a_run_that_is_taken_over_is_billed_once(
    resumable: bool, redis: RedisServer, tmp_path: Path
) -> None:
    """With what the dead replica used: it goes on elsewhere, or fails there."""
    dying = Spending.saying(call("count", "c-1"), asyncio.Event())
    async with (
        replica(agent(dying), redis, tmp_path, resumable=resumable, budget=BUDGET) as one,
        replica(
            agent(Spending.saying("Done.")), redis, tmp_path, resumable=resumable, budget=BUDGET
        ) as two,
    ):
        run = await begin(one)
        await one.reaches(run, b"Once")
        await vanish(one)
        assert await ended(two, run) == ("finished" if resumable else "failed")
        both = 2 * TOTAL if resumable else TOTAL
        async with asyncio.timeout(PATIENCE):
            while await used(two) != [{"runs": 1, "tokens": both}]:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        await used(one)
        assert await used(two) == [{"runs": 1, "tokens": both}]
