"""Retention: no run goes for one wrong reading of the clock, and nothing goes before it was told."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tests.patience import PATIENCE
from tests.server.test_process import asked, make_sessions, serving

from adk_prism.errors import Diagnostic, LogError
from adk_prism.features.run_retention.runs import HOUR, RemovedRuns, RetentionGuard, RunRetention
from adk_prism.log.contract import LogObserver, Retention
from adk_prism.log.coordination import LocalLeases
from adk_prism.log.entry import AgentEvent, Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.lifecycle import housekeeping
from adk_prism.testing.runlog_steps import END, start

YEAR = 365 * 24 * HOUR
CLOCK = Path(__file__).parents[2] / "chaos" / "clock"


@dataclass
class Clock:
    """A time of day that may be wrong, and one that nobody sets."""

    steady: float = 0.0
    offset: float = 0.0

    def wall(self) -> float:
        return 1_800_000_000.0 + self.steady + self.offset


@dataclass
class Kept:
    """A log with runs of this moment, and what watches over it."""

    clock: Clock = field(default_factory=Clock)
    told: list[Diagnostic] = field(default_factory=list)

    async def make(self, runs: int, max_age: float) -> RunRetention:
        self.log = MemoryLog(clock=self.clock.wall)
        await self.log.open()
        for number in range(runs):
            run = RunId(f"run-{number}")
            await self.log.append(run, [start(run), END])
        guard = RetentionGuard(max_age, self.clock.wall, lambda: self.clock.steady)
        return RunRetention(self.log, Retention(max_age=max_age), self.told.append, guard)

    async def count(self) -> int:
        return len(await self.log.list())


async def test_a_wrong_clock_removes_nothing() -> None:
    """Wrong in one look, or in some of them: every run is there afterwards."""
    kept = Kept()
    look = await kept.make(20, 30 * 24 * HOUR)
    for kept.clock.offset in (0, YEAR, 0, 0, YEAR, 0, -YEAR, 0):
        await look()
        kept.clock.steady += 600
    assert await kept.count() == 20


async def test_what_is_old_goes_a_few_an_hour() -> None:
    """It is told first, and goes with the next looks, in the end all of it."""
    kept = Kept()
    look = await kept.make(20, 30 * 24 * HOUR)
    kept.clock.steady += YEAR
    await look()
    assert await kept.count() == 20
    assert [each.kind for each in kept.told] == ["retention"]
    assert "20 of 20 runs" in kept.told[0].detail
    counts = []
    for _ in range(6 * 21):
        kept.clock.steady += 600
        await look()
        counts.append(await kept.count())
    assert counts[:7] == [19, 19, 19, 19, 19, 19, 18]
    assert counts[-1] == 0


async def test_a_job_that_fails_is_told_and_done_again() -> None:
    """Whatever it raises; the others are done."""
    told: list[Diagnostic] = []
    done = asyncio.Event()
    failures = [LogError("no"), RuntimeError("odd")]

    async def fails() -> None:
        if failures:
            raise failures.pop()

    async def works() -> None:
        if not failures:
            done.set()

    async with housekeeping([fails, works], LocalLeases(), told.append, 0.01):
        await asyncio.wait_for(done.wait(), PATIENCE)
    assert [each.kind for each in told] == ["housekeeping failed"] * 2


def test_a_server_that_starts_with_a_wrong_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year ahead: it tells that all runs are old, and they are there when the clock is right again."""
    offset = tmp_path / "offset"
    offset.write_text("0")
    monkeypatch.setenv("PRISM_TEST_CLOCK", str(offset))
    monkeypatch.setenv("PYTHONPATH", str(CLOCK), prepend=os.pathsep)
    (tmp_path / "go").touch()
    with serving(tmp_path) as served, httpx.Client(base_url=served.url, timeout=PATIENCE) as client:
        make_sessions(client, "one")
        assert client.post("/run_sse", json=asked("one")).status_code == 200
    offset.write_text(str(YEAR))
    with serving(tmp_path) as served:
        assert served.process.stderr is not None
        assert "1 of 1 runs are past their age" in served.process.stderr.readline()
        offset.write_text("0")
        assert len(httpx.get(f"{served.url}/api/runs?app=slow", timeout=PATIENCE).json()) == 1


async def test_what_is_removed_for_its_size_is_told() -> None:
    """A line for each user, and one of the audit log for each run; a log in memory tells it too."""
    told: list[Diagnostic] = []
    audited: list[AuditedAction] = []

    async def write(action: AuditedAction) -> None:
        audited.append(action)

    log = MemoryLog(Retention(max_bytes=4000))
    log.attach(observer=LogObserver(trimmed=RemovedRuns(told.append, write, 4000).removed))
    await log.open()
    for number in range(4):
        run = RunId(f"run-{number}")
        origin = Origin(app="app", user="bob" if number else "ann", session="s")
        await log.append(run, [start(run, origin), AgentEvent(b"x" * 1800), END])
    await log.append(RunId("last"), [start(RunId("last"))])
    for _ in range(3):
        await asyncio.sleep(0)
    assert [each.run for each in audited] == ["run-1", "run-2"]
    assert {each.action for each in audited} == {"run removed"}
    assert "runs of 'bob'" in told[0].detail
    assert all(each.kind == "runs removed" for each in told)
    assert [each.run for each in await log.list()] == ["run-0", "run-3", "last"]
