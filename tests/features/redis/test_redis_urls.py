"""Which URLs name a run log in Redis, and what they open."""

from __future__ import annotations

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import agent, local_server

from adk_prism.errors import UsageError
from adk_prism.features.redis.leases import RedisLeases, RedisUsageCounters, RedisValues
from adk_prism.features.redis.store import RedisLog, RedisStore
from adk_prism.log.from_url import is_shared, open_coordination, open_log
from adk_prism.server.settings import Settings


@pytest.mark.parametrize("scheme", ["redis", "rediss", "REDIS"])
def test_redis(scheme: str) -> None:
    """The prefix is ours, the rest redis-py's; what processes share is where the log is."""
    url = f"{scheme}://user:hunter2@host:1234/5?prefix=mine&socket_timeout=3"
    log, coordination = open_log(url), open_coordination(url)
    leases = coordination.leases(2.0)
    assert isinstance(log, RedisLog)
    assert isinstance(log.store, RedisStore)
    assert isinstance(leases, RedisLeases)
    assert (log.store.keys.prefix, leases._keys.prefix) == ("mine", "mine")
    assert log.store.redis.connection_pool.connection_kwargs["socket_timeout"] == 3
    assert isinstance(coordination.values(), RedisValues)
    assert isinstance(coordination.counters(), RedisUsageCounters)
    assert is_shared(url)
    assert coordination.is_shared


def test_a_prefix_that_is_none() -> None:
    """Braces would put keys of one run into several slots of a cluster."""
    with pytest.raises(UsageError, match="prefix"):
        open_log("redis://host/0?prefix={a}")


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:hunter2@host/names",
        "redis://user:hunter2@host:port/0",
        "redis://user:hunter2@host/0?socket_timeout=soon",
        "rediss:hunter2",
        "redis://",
    ],
)
def test_refusals(url: str) -> None:
    """What names no Redis is refused with what is expected, and repeats nothing of the URL."""
    for opens in (open_log, open_coordination):
        with pytest.raises(UsageError, match="expected redis://HOST:PORT/NUMBER") as caught:
            opens(url)
        assert "hunter2" not in caught.value.detail


async def test_a_log_of_a_feature_that_is_left_out() -> None:
    """It is refused with what to do, also where only a rule about settings asks for it."""
    url, left_out = "redis://user:hunter2@host:1234/5", "--without redis: the run log redis: needs"
    with pytest.raises(UsageError, match=left_out) as caught:
        async with local_server(agent(Scripted()), log=url, without=("redis",)):
            pass
    assert "hunter2" not in caught.value.detail
    with pytest.raises(UsageError, match=left_out):
        Settings(log=url, without=("redis",), workers=2)
    with pytest.raises(UsageError, match=r"expected memory:, .* or redis://HOST"):
        open_log("reddis://host")
    with pytest.raises(UsageError, match=r"\(absolute\)\.$"):
        open_log("reddis://host", without=("redis",))
