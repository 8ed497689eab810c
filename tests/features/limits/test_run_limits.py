"""Limits on runs: how many a user has, and how long one takes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runs.test_runs import ELSEWHERE, begin, end_of, log, runs_on

from adk_prism.errors import TooMany
from adk_prism.features.limits import CallerLimits
from adk_prism.features.limits.runs import RunLimiter
from adk_prism.log.memory import MemoryLog

__all__ = ["log"]


def limited(**limits: Any) -> RunLimiter:
    return RunLimiter(CallerLimits(**limits), lambda _: None)


async def test_a_user_has_so_many_runs_at_a_time(log: MemoryLog) -> None:
    """One more is refused; one that has ended does not count."""
    runs = runs_on(log, limited(runs=1))
    run, script = await begin(runs)
    with pytest.raises(TooMany):
        await begin(runs, origin=ELSEWHERE)
    script.end()
    await end_of(runs, log, run)
    again, other = await begin(runs, origin=ELSEWHERE)
    other.end()
    await end_of(runs, log, again)


async def test_a_run_that_takes_too_long_fails_with_the_limit(log: MemoryLog) -> None:
    """Its code is the name of the limit."""
    runs = runs_on(log, limited(run_time=0.01))
    run, _ = await begin(runs)
    end = await end_of(runs, log, run)
    assert (end.outcome, end.code) == ("failed", "run_time_limit")
