"""What may go for its age, with clocks that are wrong for a while, or for ever."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from adk_prism.features.run_retention.runs import HOUR, RetentionGuard

DAY = 24 * HOUR
YEAR = 365 * DAY
STEP = 600.0
TODAY = 1_800_000_000.0


@dataclass(frozen=True)
class Case:
    id: str
    offsets: tuple[float, ...]
    """By how much the time of day is wrong at each look."""
    limits: tuple[float | None, ...]
    """What each look gives, without the offset of the moment and the age."""


CASES = [
    Case("right", (0, 0, 0), (None, 0, STEP)),
    Case("wrong for one look", (0, YEAR, 0, 0), (None, None, None, 2 * STEP)),
    Case("wrong at the start", (YEAR, 0, 0), (None, None, STEP)),
    Case("behind for one look", (0, -YEAR, 0, 0), (None, None, None, 2 * STEP)),
    Case("corrected a little", (0, 30, 0), (None, 0, STEP + 0)),
    Case("wrong for good", (0, YEAR, YEAR), (None, None, YEAR + STEP)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_clock_is_believed_when_two_readings_agree(case: Case) -> None:
    """The earlier of them counts; after a jump there is no limit."""
    now, offset = 0.0, 0.0
    guard = RetentionGuard(30 * DAY, wall=lambda: TODAY + now + offset, monotonic=lambda: now)
    found = []
    for offset in case.offsets:  # noqa: B007 - read by the clock
        limit = guard.look()
        found.append(None if limit is None else limit - TODAY + 30 * DAY)
        now += STEP
    assert found == [
        pytest.approx(limit, abs=60) if limit is not None else None for limit in case.limits
    ]


@dataclass(frozen=True)
class Pace:
    id: str
    age: float
    kept: int
    hourly: int


PACES = [
    Pace("a month", 30 * DAY, 1000, 10),
    Pace("few runs", 30 * DAY, 3, 1),
    Pace("a day", DAY, 1000, 167),
    Pace("an hour", HOUR, 1000, 1000),
]


@pytest.mark.parametrize("pace", PACES, ids=lambda pace: pace.id)
def test_a_share_may_go_in_an_hour(pace: Pace) -> None:
    """Of what there was; after an hour as many again."""
    now = 0.0
    guard = RetentionGuard(pace.age, monotonic=lambda: now)
    assert guard.allowance(pace.kept) == pace.hourly
    guard.note(pace.hourly)
    now = STEP
    assert guard.allowance(pace.kept - pace.hourly) == 0
    now = HOUR
    assert guard.allowance(pace.kept) == pace.hourly
