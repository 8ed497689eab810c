"""Feedback on a message that several runs make up is one, whichever of them it is given to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adk_prism.errors import ignore
from adk_prism.features.feedback.feedback import Feedbacks
from adk_prism.features.search.index import RunIndex, index_of
from adk_prism.log.entry import Continues, Origin, RunId, RunStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.session_log import Deletions
from adk_prism.testing.runlog_steps import END, EVERYTHING, LATER, ORIGIN, OTHER, RUN, start


@pytest.fixture
async def log() -> AsyncIterator[MemoryLog]:
    made = MemoryLog()
    await made.open()
    await made.append(RUN, [start(), END])
    await made.append(OTHER, [_continuing(OTHER, ORIGIN)])
    yield made
    await made.close()


def _continuing(run: RunId, origin: Origin) -> RunStarted:
    return RunStarted(run=run, origin=origin, continues=Continues(message=RUN))


async def test_it_is_kept_at_the_first_run(log: MemoryLog) -> None:
    """The second run's takes the place of the first's, and both show it."""
    feedbacks = Feedbacks(log, RunIndex(log, index_of(log), Deletions(log), ignore).changed)
    first, second = await log.summary(RUN), await log.summary(OTHER)
    await feedbacks.give(first, RUN, 1.0, "", "ann")
    kept = await feedbacks.give(second, RUN, -1.0, "no", "ann")
    assert kept is not None
    assert (kept.run, kept.by) == (RUN, "ann")
    for summary in (first, second):
        assert list(await feedbacks.of_run(summary)) == [kept]
    assert list(await feedbacks.of_session(ORIGIN)) == [kept]


async def test_it_is_kept_elsewhere_if_the_first_run_is_not_there(log: MemoryLog) -> None:
    """Retention may have removed it; a run that only claims to continue it has its own."""
    feedbacks = Feedbacks(log, RunIndex(log, index_of(log), Deletions(log), ignore).changed)
    stranger = RunId("run-3")
    await log.append(stranger, [_continuing(stranger, Origin(app="app", user="eve", session="s"))])
    kept = await feedbacks.give(await log.summary(stranger), RUN, 1.0, "")
    assert kept is not None
    assert (kept.run, kept.by) == (stranger, "eve")
    await log.trim(EVERYTHING, LATER)
    kept = await feedbacks.give(await log.summary(OTHER), RUN, 1.0, "")
    assert kept is not None
    assert (kept.run, kept.by) == (OTHER, "user")
