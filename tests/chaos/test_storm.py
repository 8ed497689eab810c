"""A small storm with real processes, and the checker of histories, which must find what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.chaos.history import History, anomalies, log_anomalies
from tests.chaos.replicas import Replicas
from tests.chaos.storm import Storm

SEED = 8
LEASE = 2.0
WHOLE = [("1.1", b"{}"), ("2.1", b"{}"), ("3.1", b"[DONE]")]


@dataclass(frozen=True)
class Case:
    id: str
    frames: list[tuple[str, bytes]]
    says: str


CASES = [
    Case("a gap", [WHOLE[0], WHOLE[2]], "something else at frame 2"),
    Case("a repetition", [WHOLE[0], WHOLE[0], *WHOLE[1:]], "twice"),
    Case("another order", [WHOLE[1], WHOLE[0], WHOLE[2]], "something else at frame 1"),
    Case("no end", WHOLE[:2], "no end"),
    Case("nothing", [], "0 of 3"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_checker_finds(case: Case) -> None:
    """What is not the run's stream is an anomaly."""
    assert case.says in "; ".join(anomalies(History("viewer", case.frames), WHOLE))


def test_the_checker_lets_the_stream_itself_pass() -> None:
    """And a log that is one."""
    assert not list(anomalies(History("viewer", list(WHOLE)), WHOLE))
    assert not list(log_anomalies([1, 2], ["RunStarted", "RunEnded"]))
    assert list(log_anomalies([1, 3], ["RunStarted", "RunEnded"])) == ["the log has a gap"]


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    made = Replicas(tmp_path_factory.mktemp("storm"), lease=LEASE)
    try:
        made.start(2)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("fault", ["kill", "pause", "redis", "term"])
def test_every_viewer_sees_the_whole_run(replicas: Replicas, fault: str) -> None:
    """The owner is killed, or stopped and woken up; Redis is killed; a replica is told to go."""
    report = asyncio.run(Storm(replicas, LEASE, SEED).play(fault))
    assert not report.wrong, f"seed {SEED}: {report}"
    assert report.outcome == "finished"
    assert report.takeovers >= (fault in ("kill", "pause"))
