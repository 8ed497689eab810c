"""A run log's URL names its backend, and is not repeated where it could hold a password."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from adk_prism.errors import PrismError, UsageError
from adk_prism.log.contract import LocalLeases
from adk_prism.log.from_url import open_leases, open_log
from adk_prism.log.memory import MemoryLog
from adk_prism.log.redis.leases import RedisLeases
from adk_prism.log.redis.store import RedisLog, RedisStore
from adk_prism.log.sqlite.store import SqliteLog, SqliteStore


def test_memory() -> None:
    """`memory:` is the log in memory."""
    assert isinstance(open_log("memory:"), MemoryLog)


PATHS = {
    "sqlite:///runs.db": "runs.db",
    "sqlite:///.adk-prism/runs.db": ".adk-prism/runs.db",
    "sqlite:////var/lib/runs.db": "/var/lib/runs.db",
    "SQLite:///a b.db?synchronous=full": "a b.db",
}


@pytest.mark.parametrize(("url", "path"), PATHS.items())
def test_sqlite(url: str, path: str) -> None:
    """Three slashes are relative, four absolute."""
    log = open_log(url)
    assert isinstance(log, SqliteLog)
    assert isinstance(log.store, SqliteStore)
    assert log.store.path == Path(path).absolute()
    assert log.store.synchronous == ("full" if "full" in url else "normal")


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_redis(scheme: str) -> None:
    """The prefix is ours, the rest redis-py's; the leases are where the log is."""
    url = f"{scheme}://user:hunter2@host:1234/5?prefix=mine&socket_timeout=3"
    log, leases = open_log(url), open_leases(url, 2.0)
    assert isinstance(log, RedisLog)
    assert isinstance(leases, RedisLeases)
    assert isinstance(log.store, RedisStore)
    assert (log.store.keys.prefix, leases._keys.prefix) == ("mine", "mine")
    assert log.store.redis.connection_pool.connection_kwargs["socket_timeout"] == 3


def test_a_prefix_that_is_none() -> None:
    """Braces would put keys of one run into several slots of a cluster."""
    with pytest.raises(UsageError, match="prefix"):
        open_log("redis://host/0?prefix={a}")


def test_leases_of_one_process() -> None:
    """Logs that nobody shares have no leases to share."""
    assert isinstance(open_leases("memory:"), LocalLeases)
    assert isinstance(open_leases("sqlite:///runs.db"), LocalLeases)


class Refused(NamedTuple):
    url: str
    error: type[PrismError]


REFUSED = [
    Refused("redis://user:hunter2@host/names", UsageError),
    Refused("redis://user:hunter2@host:port/0", UsageError),
    Refused("redis://user:hunter2@host/0?socket_timeout=soon", UsageError),
    Refused("rediss:hunter2", UsageError),
    Refused("redis://", UsageError),
    Refused("postgresql://user:hunter2@host/db", UsageError),
    Refused("sqlite://user:hunter2@host/runs.db", UsageError),
    Refused("sqlite:///hunter2.db?mode=ro", UsageError),
    Refused("sqlite:///hunter2.db?synchronous=off", UsageError),
    Refused("sqlite:///", UsageError),
    Refused("sqlite:////", UsageError),
    Refused("sqlite:///folder/", UsageError),
    Refused("sqlite:runs.db", UsageError),
    Refused("memory:hunter2", UsageError),
    Refused("memory", UsageError),
    Refused("hunter2.db", UsageError),
    Refused("", UsageError),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.url)
def test_refusals(case: Refused) -> None:
    """What names no log is refused with what is expected, and repeats nothing of the URL."""
    with pytest.raises(case.error) as caught:
        open_log(case.url)
    assert "hunter2" not in caught.value.detail
    assert "sqlite:///" in caught.value.detail or "synchronous=" in caught.value.detail
