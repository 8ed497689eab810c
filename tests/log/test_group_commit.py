"""When and where a group of changes is written: at once or spaced, in the loop or in the thread."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from adk_prism.log import group_commit
from adk_prism.log import group_commit as log_store
from adk_prism.log.entry import AgentEvent
from adk_prism.log.group_commit import AppendResult, Group
from adk_prism.log.sqlite import store
from adk_prism.log.sqlite.store import SqliteLog, SqliteStore
from adk_prism.testing.runlog_steps import (
    END,
    PATIENCE,
    RUN,
    collect,
    cursors,
    event,
    eventually,
    start,
)

FOREVER = 3600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    log = SqliteLog(path)
    await log.open()
    yield log
    await log.close()


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The groups that were tried in the loop: how many entries, and whether that was the end of it."""
    seen: list[tuple[int, bool]] = []
    write_now = SqliteStore.write_now

    def noted(self: SqliteStore, group: Group) -> Sequence[AppendResult] | None:
        results = write_now(self, group)
        seen.append((sum(len(batch.entries) for batch in group), results is not None))
        return results

    monkeypatch.setattr(SqliteStore, "write_now", noted)
    return seen


def pause(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for name in ("SPACING", "LONGEST_SPACING"):
        monkeypatch.setattr(group_commit, name, seconds)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_comes_in_a_pause_is_one_group(
    log: SqliteLog, attempts: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first change does not wait; a hundred more in a hundred turns are written together."""
    pause(monkeypatch, FOREVER)
    await log.append(RUN, [start()])
    await turns(2)
    assert attempts == [(1, True)]
    for number in range(100):
        await log.append(RUN, [event(number)])
        await turns(1)
    assert attempts == [(1, True)]
    await eventually(log.commit(RUN))
    assert attempts == [(1, True), (100, True)]


async def test_small_entries_are_joined_and_a_large_one_stays_apart(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that the store refuses takes none of those before it along."""
    pause(monkeypatch, FOREVER)
    groups: list[list[int]] = []
    write_now = SqliteStore.write_now

    def noted(self: SqliteStore, group: Group) -> Sequence[AppendResult] | None:
        groups.append([len(batch.entries) for batch in group])
        return write_now(self, group)

    monkeypatch.setattr(SqliteStore, "write_now", noted)
    await log.append(RUN, [start()])
    await turns(2)
    large = AgentEvent(b'{"text":"%s"}' % (b"x" * log_store.SMALL_BYTES))
    for record in (event(1), event(2), large, event(3), END):
        await log.append(RUN, [record])
    await eventually(log.commit(RUN))
    assert groups == [[1], [2, 2, 1]]
    assert cursors(await collect(log)) == [1, 2, 3, 4, 5, 6]


async def test_nobody_waits_for_the_end_of_a_pause(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that is waited for cuts the pause short, each time; so does closing."""
    pause(monkeypatch, FOREVER)
    await log.append(RUN, [start()])
    for number in range(3):
        await log.append(RUN, [event(number)])
        await eventually(log.commit(RUN))
    await log.append(RUN, [END])
    await eventually(log.close())
    await log.open()
    assert cursors(await collect(log)) == [1, 2, 3, 4, 5]


async def test_a_pause_ends_by_itself(log: SqliteLog) -> None:
    """Followers see what was appended though nobody asks for a commit."""
    await log.append(RUN, [start()])
    await turns(2)
    await log.append(RUN, [event(1), END])
    assert cursors(await eventually(collect(log, follow=True))) == [1, 2, 3]


async def test_after_a_quiet_moment_nothing_is_held_back(
    log: SqliteLog, attempts: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes when no group was written lately is written in the next turn."""
    pause(monkeypatch, 0.0)
    monkeypatch.setattr(group_commit, "LOOP_SHARE", 0)
    await log.append(RUN, [start()])
    for number in range(1, 5):
        await log.append(RUN, [event(number)])
        await turns(2)
    assert [size for size, _ in attempts] == [2, 1, 1, 1]


async def test_groups_keep_their_distance(
    log: SqliteLog, attempts: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many turns the loop makes; what was appended is written when the time is over."""
    pause(monkeypatch, 0.2)
    await log.append(RUN, [start()])
    await eventually(log.commit(RUN))
    for number in range(100):
        await log.append(RUN, [event(number)])
        await turns(1)
    assert attempts == [(1, True)]
    async with asyncio.timeout(PATIENCE):
        while len(attempts) < 2:  # noqa: ASYNC110 - nobody is told of a group
            await asyncio.sleep(0)
    assert attempts == [(1, True), (100, True)]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the file, as a person with a shell may."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


async def test_a_file_that_is_held_does_not_stop_the_loop(
    path: Path, log: SqliteLog, attempts: list[tuple[int, bool]]
) -> None:
    """The thread waits for it; the loop goes on."""
    await log.append(RUN, [start()])
    await eventually(log.commit(RUN))
    with held(path):
        await log.append(RUN, [event(1)])
        committing = asyncio.create_task(log.commit(RUN))
        await turns(50)
        assert attempts[-1] == (1, False)
        assert not committing.done()
    await eventually(committing)
    assert cursors(await collect(log)) == [1, 2]


@pytest.mark.parametrize("size", [0, store.QUICK_BYTES])
async def test_only_small_groups_are_written_in_the_loop(
    log: SqliteLog, attempts: list[tuple[int, bool]], size: int
) -> None:
    """A large one would stop every stream for as long as it takes."""
    await log.append(RUN, [start()])
    await eventually(log.commit(RUN))
    await log.append(RUN, [AgentEvent(b'"%b"' % (b"x" * size))])
    await eventually(log.commit(RUN))
    assert attempts[-1] == (1, size == 0)


async def test_a_log_that_flushes_leaves_the_loop_alone(
    path: Path, attempts: list[tuple[int, bool]]
) -> None:
    """With `synchronous=full` each commit waits for the disk."""
    log = SqliteLog(path, synchronous="full")
    await log.open()
    await log.append(RUN, [start(), END])
    await eventually(log.commit(RUN))
    await log.close()
    assert attempts == [(2, False)]


async def test_a_long_journal_is_written_back(
    path: Path, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not do it by itself here: it would do it in the loop."""
    monkeypatch.setattr(store, "CHECKPOINT_BYTES", 64 * 1024)
    await log.append(RUN, [start()])
    await eventually(log.commit(RUN))
    before = path.stat().st_size
    for number in range(20):
        await log.append(RUN, [event(number)] * 50)
        await eventually(log.commit(RUN))
    async with asyncio.timeout(PATIENCE):
        while path.stat().st_size <= before:  # noqa: ASYNC110 - a file notifies nobody
            await asyncio.sleep(0)
