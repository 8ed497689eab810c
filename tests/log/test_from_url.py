"""A run log's URL names its backend, and is not repeated where it could hold a password."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from adk_prism.errors import PrismError, TooMany, UsageError
from adk_prism.log.coordination import MOST_OF_ONE, LocalLeases, LocalValues
from adk_prism.log.from_url import is_shared, open_coordination, open_log
from adk_prism.log.memory import MemoryLog
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


def test_leases_of_one_process() -> None:
    """A process that uses its log alone has leases that nobody else wants, and counts alone."""
    for url in ("memory:", "sqlite:///runs.db"):
        coordination = open_coordination(url)
        assert not is_shared(url)
        assert not coordination.is_shared
        assert isinstance(coordination.leases(), LocalLeases)
        assert isinstance(coordination.values(), LocalValues)
        assert coordination.counters() is None


async def test_values_of_one_process() -> None:
    """They can be taken once, until they expire; a caller has only so many, and nobody else's."""
    now = [0.0]
    values = LocalValues(lambda: now[0])
    await values.put("a", b"1", 10, "ann")
    await values.put("b", b"2", 20, "ann")
    assert [await values.take("a"), await values.take("a")] == [b"1", None]
    now[0] = 20
    assert await values.take("b") is None
    for number in range(MOST_OF_ONE):
        await values.put(f"ann {number}", b"", 10, "ann")
    with pytest.raises(TooMany):
        await values.put("one more", b"", 10, "ann")
    await values.put("bob's", b"", 10, "bob")
    now[0] = 30
    await values.put("one more", b"", 10, "ann")
    assert len(values) == 1


class Refused(NamedTuple):
    url: str
    error: type[PrismError]


REFUSED = [
    Refused("mysql+redis://user:hunter2@host/0", UsageError),
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
