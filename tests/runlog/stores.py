"""The stores that the contract of run logs is checked on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.memory import MemoryLog
from adk_prism.runlog.sqlite import SqliteLog
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
        return SqliteLog(self.folder / "runs.db", tail_bytes=self.tail_bytes)


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


STORES: tuple[Callable[[], AbstractContextManager[Store]], ...] = (
    memory,
    sqlite,
    sqlite_with_a_short_tail,
)
