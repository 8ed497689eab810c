"""The run log in memory keeps within its bounds."""

from __future__ import annotations

import pytest

from adk_prism.errors import Gone, LogError, NotFound
from adk_prism.log import memory
from adk_prism.log.contract import Retention
from adk_prism.log.entry import AgentEvent, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.testing.runlog_steps import END, RUN, collect, cursors, event, refused, start


async def test_ended_runs_make_room() -> None:
    """When a run starts, what there is no room for goes, oldest first; nothing goes for a clock."""
    now = 0.0
    log = MemoryLog(Retention(max_age=60, max_bytes=3000), clock=lambda: now)
    await log.open()
    for number in range(5):
        run = RunId(f"run-{number}")
        await log.append(run, [start(run), AgentEvent(b"x" * 1000), END])
    assert [found.run for found in await log.list()] == ["run-2", "run-3", "run-4"]
    await refused(Gone, collect(log, RunId("run-0")))
    now = 61.0
    last = RunId("run-9")
    await log.append(last, [start(last)])
    assert [found.run for found in await log.list()] == ["run-3", "run-4", last]
    await log.close()


async def test_a_run_that_fills_the_memory_is_refused_more() -> None:
    """Runs that have not ended cannot go, so they cannot grow without end; they can end."""
    log = MemoryLog(Retention(max_bytes=1000))
    await log.open()
    await log.append(RUN, [start(), AgentEvent(b"x" * 2000)])
    with pytest.raises(LogError, match="full"):
        await log.append(RUN, [event(1)])
    assert (await log.append(RUN, [END])).cursor == 3
    assert cursors(await collect(log)) == [1, 2, 3]
    await log.close()


async def test_tombstones_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of removed runs are forgotten one day, the oldest first."""
    monkeypatch.setattr(memory, "MAX_TOMBSTONES", 2)
    log = MemoryLog(Retention(max_bytes=0))
    await log.open()
    for name in ("first", "second", "third"):
        run = RunId(name)
        await log.append(run, [start(run), END])
        await log.trim(Retention(max_bytes=0), now=0)
    for name, expected in (("first", NotFound), ("second", Gone), ("third", Gone)):
        with pytest.raises(expected):
            await log.summary(RunId(name))
    await log.close()
