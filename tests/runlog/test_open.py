"""A run log's URL names its backend, and is not repeated where it could hold a password."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from adk_prism.errors import NotBuilt, PrismError, UsageError
from adk_prism.runlog.memory import MemoryLog
from adk_prism.runlog.open import open_log
from adk_prism.runlog.sqlite import SqliteLog


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
    assert log._path == Path(path)
    assert log._synchronous == ("full" if "full" in url else "normal")


class Refused(NamedTuple):
    url: str
    error: type[PrismError]


REFUSED = [
    Refused("redis://user:hunter2@host/0", NotBuilt),
    Refused("rediss://user:hunter2@host/0", NotBuilt),
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
