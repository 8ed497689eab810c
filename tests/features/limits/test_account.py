"""Buckets and accounts, by a clock that the test tells."""

from __future__ import annotations

import pytest

from adk_prism.errors import TooMany
from adk_prism.features.limits import NONE, USUAL, CallerLimits, limits_of
from adk_prism.features.limits.callers import BURST, UsageByCaller
from adk_prism.server.settings import Settings
from adk_prism.server.throttling import TokenBucket


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def accounts(clock: Clock, kept: int = 100, **limits: int) -> UsageByCaller:
    return UsageByCaller(CallerLimits(**limits), clock, lambda _: None, kept)


def test_a_bucket_fills_with_time_and_remembers_debt() -> None:
    """Ten a second, ten at once; what was taken beyond is waited for."""
    bucket = TokenBucket(10, 10, 0.0)
    bucket.take(25, 0.0)
    assert bucket.wait(0, 0.0) == pytest.approx(1.5)
    assert bucket.wait(1, 1.5) == pytest.approx(0.1)
    assert not bucket.is_full(2.0)
    assert bucket.is_full(60.0)
    assert bucket.wait(1000, 60.0) == 0.0  # more than there can ever be: as much as there can


def test_a_rate_is_kept_for_each_caller() -> None:
    """One that asks too often is told when to come back; others do not notice."""
    clock = Clock()
    known = accounts(clock, rate=5)
    for _ in range(5 * BURST):
        with known.of("ann").open("http", clock.now):
            pass
    with pytest.raises(TooMany) as refused, known.of("ann").open("http", clock.now):
        pass
    assert refused.value.retry_after == pytest.approx(0.2)
    with known.of("bob").open("http", clock.now):
        pass
    clock.now += 0.2
    with known.of("ann").open("http", clock.now):
        pass


@pytest.mark.parametrize(("kind", "limit"), [("http", "requests"), ("websocket", "sockets")])
def test_what_is_open_is_counted_until_it_closes(kind: str, limit: str) -> None:
    """Also when it ends by an error."""
    clock = Clock()
    known = accounts(clock, **{limit: 1})
    own = known.of("ann")
    with own.open(kind, 0.0):  # type: ignore[arg-type]
        with pytest.raises(TooMany), own.open(kind, 0.0):  # type: ignore[arg-type]
            pass
        with known.of("bob").open(kind, 0.0):  # type: ignore[arg-type]
            pass
    with pytest.raises(ZeroDivisionError), own.open(kind, 0.0):  # type: ignore[arg-type]
        raise ZeroDivisionError
    with own.open(kind, 0.0):  # type: ignore[arg-type]
        pass


def test_bytes_in_debt_refuse_what_is_new() -> None:
    """Until the debt is paid; what is open is told how long to wait."""
    own = accounts(Clock(), bytes=1000).of("ann")
    with own.open("http", 0.0):
        assert own.use(900, 0.0) == 0.0
        assert own.use(1100, 0.0) == pytest.approx(1.0)
    with pytest.raises(TooMany) as refused, own.open("http", 0.0):
        pass
    assert refused.value.retry_after == pytest.approx(1.0)
    with own.open("http", 1.0):
        pass


def test_accounts_that_use_nothing_are_forgotten() -> None:
    """A flood of callers does not grow the table; one who has something open stays."""
    clock = Clock()
    known = accounts(clock, kept=10, rate=1, requests=1)
    with known.of("stays").open("http", clock.now):
        for number in range(1000):
            clock.now += 1
            with known.of(f"caller {number}").open("http", clock.now):
                pass
            assert len(known) <= 20
        with pytest.raises(TooMany), known.of("stays").open("http", clock.now):
            pass


def test_a_developer_has_no_limits() -> None:
    """Where nobody has to be known nothing is limited, unless it is set."""
    assert limits_of(Settings(), known=False) == NONE
    assert limits_of(Settings(limit_runs=3), known=False) == NONE._replace(runs=3)
    assert limits_of(Settings(), known=True) == USUAL
    assert limits_of(Settings(limit_rate=7), known=True) == USUAL._replace(rate=7)
    assert limits_of(Settings(log="redis://host"), known=True) == USUAL._replace(unwatched=0)
