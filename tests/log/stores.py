"""The stores that the contract of run logs is checked on."""

from __future__ import annotations

import atexit
import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.redis_cluster import RedisCluster
from tests.redis_server import RedisServer

from adk_prism.features.redis.store import RedisLog
from adk_prism.log.contract import RunLog
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.testing.runlog_steps import Store


class MemoryStore:
    durable = False

    def log(self) -> RunLog:
        return MemoryLog()


@dataclass(frozen=True)
class SqliteStore:
    folder: Path
    tail_bytes: int
    durable = True

    def log(self) -> RunLog:
        log = SqliteLog(self.folder / "runs.db")
        log.tail_bytes = self.tail_bytes
        return log


@dataclass(frozen=True)
class RedisStore:
    url: str
    prefix: str
    tail_bytes: int
    durable = True

    def log(self) -> RunLog:
        log = RedisLog(self.url, prefix=self.prefix)
        log.tail_bytes = self.tail_bytes
        return log


@cache
def _server() -> RedisServer:
    """One for all tests of a process; each store has a prefix of its own."""
    folder = tempfile.TemporaryDirectory()
    server = RedisServer(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(server.kill)
    return server


_NUMBERS = itertools.count()


@contextmanager
def memory() -> Iterator[Store]:
    yield MemoryStore()


@contextmanager
def sqlite() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        yield SqliteStore(Path(folder), tail_bytes=1024 * 1024)


@contextmanager
def sqlite_with_a_short_tail() -> Iterator[Store]:
    """Followers are nearly always behind what memory holds, so they read the file."""
    with tempfile.TemporaryDirectory() as folder:
        yield SqliteStore(Path(folder), tail_bytes=700)


@contextmanager
def redis() -> Iterator[Store]:
    yield RedisStore(_server().url, f"test-{next(_NUMBERS)}", tail_bytes=1024 * 1024)


@cache
def cluster() -> RedisCluster:
    """One for all tests of a process."""
    folder = tempfile.TemporaryDirectory()
    found = RedisCluster(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(found.kill)
    return found


@contextmanager
def redis_cluster() -> Iterator[Store]:
    """Three nodes: what belongs together has to be in one slot."""
    yield RedisStore(cluster().url, f"test-{next(_NUMBERS)}", tail_bytes=1024 * 1024)


@contextmanager
def redis_with_a_short_tail() -> Iterator[Store]:
    """Followers are nearly always behind what memory holds, so they read Redis."""
    yield RedisStore(_server().url, f"test-{next(_NUMBERS)}", tail_bytes=700)


STORES: tuple[Callable[[], AbstractContextManager[Store]], ...] = (
    memory,
    sqlite,
    sqlite_with_a_short_tail,
    redis,
    redis_with_a_short_tail,
    redis_cluster,
)
