"""Limits of a caller over several replicas: counted in Redis, and by each alone while that is away."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.adk.scripted import Scripted
from tests.cluster.replica import replica
from tests.log.stores import cluster
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.local_server import APP, LocalServer, agent

from adk_prism.errors import LogError
from adk_prism.features.limits.shared import ALONE, BOUND
from adk_prism.features.redis.leases import RedisUsageCounters
from adk_prism.log import coordination
from adk_prism.log.coordination import LimitCheck, Member, UsageLimits


@pytest.fixture(params=["alone", "cluster"])
async def two(
    request: pytest.FixtureRequest, redis: RedisServer
) -> AsyncIterator[list[RedisUsageCounters]]:
    """The counts of two processes."""
    url = redis.url if request.param == "alone" else cluster().url
    prefix = f"counts-{time.monotonic_ns()}"
    both = [RedisUsageCounters(url, prefix=prefix) for _ in "ab"]
    yield both
    for counts in both:
        await counts.close()


def member(name: str, kind: str = "http") -> Member:
    return Member("ann", name, kind)


async def test_what_is_open_is_counted_by_all(two: list[RedisUsageCounters]) -> None:
    """By kind; what is there may come again, what is left makes room."""
    one, other = two
    most = UsageLimits(open=2)
    assert await one.enter(member("a"), most) == LimitCheck()
    assert await other.enter(member("b"), most) == LimitCheck()
    assert (await one.enter(member("c"), most)).exceeded == "open"
    assert await one.enter(member("b"), most) == LimitCheck()
    assert await one.enter(member("c", "websocket"), most) == LimitCheck()
    await one.leave(member("b"))
    assert await other.enter(member("c"), most) == LimitCheck()


async def test_what_nobody_renews_is_forgotten(
    two: list[RedisUsageCounters], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a process that died; what is renewed stays."""
    one, other = two
    most = UsageLimits(open=1)
    await one.enter(member("kept", "runs"), most)
    monkeypatch.setattr(coordination, "SECONDS", 0.05)
    await one.enter(member("dead"), most)
    async with asyncio.timeout(PATIENCE):
        while (await other.enter(member("next"), most)).exceeded:  # noqa: ASYNC110 - Redis forgets
            await asyncio.sleep(0.01)
    monkeypatch.setattr(coordination, "SECONDS", PATIENCE)
    await one.renew([member("next"), member("kept", "runs")])
    assert (await other.enter(member("more"), most)).exceeded == "open"
    assert (await other.enter(member("more", "runs"), most)).exceeded == "open"


async def test_rates_are_common(two: list[RedisUsageCounters]) -> None:
    """Requests up to a burst; bytes leave a debt that is waited for."""
    one, other = two
    slow = UsageLimits(rate=0.01, burst=2)
    for counts in two:
        assert await counts.enter(member("x"), slow) == LimitCheck()
    refused = await one.enter(member("x"), slow)
    assert refused.exceeded == "rate"
    assert 50 < refused.seconds <= 100
    assert list(await one.use([("bob", 3, 1.0), ("eve", 1, 5.0)])) == [pytest.approx(2, abs=1), 0]
    bob = Member("bob", "x", "http")
    assert (await other.enter(bob, UsageLimits(bytes=0.001))).exceeded == "bytes"


async def test_replicas_count_together(redis: RedisServer, tmp_path: Path) -> None:
    """Requests a second, and runs of a user: what one has taken the other does not give."""
    models = [Scripted.saying(*(asyncio.Event() for _ in range(3))) for _ in "ab"]
    async with (
        replica(agent(models[0]), redis, tmp_path, limit_runs=2, limit_rate=100) as one,
        replica(agent(models[1]), redis, tmp_path, limit_runs=2, limit_rate=100) as two,
    ):
        running = [asyncio.create_task(say(server, f"{n}")) for n, server in enumerate((one, two))]
        for model in models:
            async with asyncio.timeout(PATIENCE):
                while not model.requests:  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(0.01)
        assert [await say(server, "more") for server in (one, two)] == [429, 429]
        await one.client.post(f"/api/chat/{APP}/0/stop")
        await asyncio.wait_for(running[0], PATIENCE)
        running.append(asyncio.create_task(say(two, "more")))
        async with asyncio.timeout(PATIENCE):
            while len(models[1].requests) < 2:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        for chat in ("1", "more"):
            await two.client.post(f"/api/chat/{APP}/{chat}/stop")
        await asyncio.wait_for(asyncio.gather(*running), PATIENCE)


async def say(server: LocalServer, chat: str) -> int:
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    answer = await server.client.post(f"/api/chat/{APP}", json={"id": chat, "messages": [message]})
    return answer.status_code


async def test_a_redis_that_stops_holds_nobody_up(redis: RedisServer, tmp_path: Path) -> None:
    """One request waits for a moment, those after it do not; each process counts, and says so once."""
    async with replica(agent(Scripted.saying()), redis, tmp_path, limit_requests=5) as server:
        assert (await server.client.get("/health")).status_code == 200
        redis.process.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            for _ in range(20):
                assert (await server.client.get("/health")).status_code == 200
            assert time.monotonic() - began < 20 * BOUND + ALONE
            assert [each.kind for each in server.reports] == ["limits not shared"]
        finally:
            redis.process.send_signal(signal.SIGCONT)


async def test_a_redis_that_is_away_is_said_so(redis: RedisServer) -> None:
    """In one way, whatever was asked."""
    counts = RedisUsageCounters(redis.url)
    redis.kill()
    for asked in (
        counts.enter(member("a"), UsageLimits(open=1)),
        counts.leave(member("a")),
        counts.renew([member("a")]),
        counts.use([("ann", 1, 1.0)]),
    ):
        with pytest.raises(LogError, match="limits cannot be counted"):
            await asked
    await counts.close()
