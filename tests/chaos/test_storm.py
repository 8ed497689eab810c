"""A small storm with real processes, and the checker of histories, which must find what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.chaos.history import (
    History,
    anomalies,
    answer_anomalies,
    call_anomalies,
    log_anomalies,
    outcome_anomalies,
)
from tests.chaos.replicas import Replica, Replicas
from tests.chaos.storm import AGENTS, ALIKE, HOSTILE, Storm
from tests.patience import PATIENCE

SEED = 8
LEASE = 4.0
SLOW = "0.2"
"""Seconds between two words of a run that must not be over before something happens to its owner."""
WHOLE = [("1.1", b"{}"), ("2.1", b"{}"), ("3.1", b"[DONE]")]


@dataclass(frozen=True)
class Case:
    id: str
    frames: list[tuple[str, bytes]]
    says: str
    has_ended: bool = True


CASES = [
    Case("a gap", [WHOLE[0], WHOLE[2]], "something else at frame 2"),
    Case("a repetition", [WHOLE[0], WHOLE[0], *WHOLE[1:]], "twice"),
    Case("another order", [WHOLE[1], WHOLE[0], WHOLE[2]], "something else at frame 1"),
    Case("no end", WHOLE[:2], "no end"),
    Case("broken off", WHOLE, "no end", has_ended=False),
    Case("nothing", [], "0 of 3"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_checker_finds(case: Case) -> None:
    """What is not the run's stream is an anomaly."""
    history = History("viewer", case.frames, has_ended=case.has_ended)
    assert case.says in "; ".join(anomalies(history, WHOLE))


UNTRUE = [
    ("kill", "failed", "owner_lost"),
    ("locked", "failed", "no-sessions"),
    ("full", "cancelled", ""),
    ("none", "incomplete", ""),
]


@pytest.mark.parametrize(("fault", "outcome", "code"), UNTRUE)
def test_the_checker_finds_an_untrue_end(fault: str, outcome: str, code: str) -> None:
    """A failure has a cause that happened, and only a person cancels."""
    assert list(outcome_anomalies(fault, outcome, code))


def test_the_checker_finds_what_was_done_twice() -> None:
    """An answer, a call that was not in doubt, a call that had been answered."""
    assert list(answer_anomalies(["word1 ", "word1 "], "finished", 1))
    assert list(answer_anomalies(["word1 word1 "], "finished", 1))
    assert list(answer_anomalies([], "finished", 1))
    assert list(call_anomalies({"c": 2}, {}, []))
    assert list(call_anomalies({"c": 3}, {"c": 1}, ["c"]))


def test_the_checker_lets_what_is_true_pass() -> None:
    """And what a takeover had to repeat."""
    assert not list(outcome_anomalies("kill", "finished", ""))
    assert not list(outcome_anomalies("full", "failed", "log_unavailable"))
    assert not list(answer_anomalies(["word1 "], "finished", 1))
    assert not list(answer_anomalies([], "failed", 1))
    assert not list(call_anomalies({"c": 2}, {"c": 1}, ["c"]))


def test_the_checker_lets_the_stream_itself_pass() -> None:
    """And a log that is one."""
    assert not list(anomalies(History("viewer", list(WHOLE), has_ended=True), WHOLE))
    assert not list(log_anomalies([1, 2], ["RunStarted", "RunEnded"]))
    assert list(log_anomalies([1, 3], ["RunStarted", "RunEnded"])) == ["the log has a gap"]


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    made = Replicas(tmp_path_factory.mktemp("storm"), lease=LEASE, postgres=True)
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def slow(replicas: Replicas) -> Replica:
    """Return a replica whose runs end only at another one."""
    return replicas.start(delay=SLOW)[0]


@dataclass(frozen=True)
class Fault:
    name: str
    viewers: int = 6
    is_taken_over: bool = False
    may_fail: bool = False


FAULTS = [
    Fault("none", viewers=50),
    Fault("redis"),
    Fault("full"),
    Fault("postgres", may_fail=True),  # with a code, if it writes to its session just then
    Fault("pause", is_taken_over=True),
    Fault("kill", is_taken_over=True),
    Fault("term"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_viewer_sees_the_whole_run(replicas: Replicas, slow: Replica, fault: Fault) -> None:
    """Nothing but many viewers; a store is killed and comes back; the owner is stopped and woken up, or
    killed, or told to go. Viewers speak every protocol, and lose their connections now and then."""
    owner = slow if fault.is_taken_over else next(r for r in replicas.alive() if r is not slow)
    storm = Storm(replicas, LEASE, SEED, fault.viewers, slack=PATIENCE)
    report = asyncio.run(storm.play(fault.name, owner))
    assert not report.wrong, f"seed {SEED}: {report}"
    assert report.outcome == "finished" or (fault.may_fail and report.outcome == "failed")
    assert report.takeovers >= fault.is_taken_over


@pytest.fixture(scope="module")
def hostile_replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    folder = tmp_path_factory.mktemp("hostile")
    made = Replicas(folder, lease=LEASE, postgres=True, agents=AGENTS, delay="0.05", words=ALIKE)
    try:
        made.start(2)
        yield made
    finally:
        made.close()


MIXED = [("none", hostile) for hostile in HOSTILE] + [("kill", "leave"), ("kill", "block")]


@pytest.mark.parametrize(("fault", "hostile"), MIXED, ids=lambda value: value)
def test_a_run_beside_one_that_misbehaves(
    hostile_replicas: Replicas, fault: str, hostile: str
) -> None:
    """Both end truly, each viewer sees the whole of its run, and no process dies of it."""
    storm = Storm(hostile_replicas, LEASE, SEED, viewers=3, slack=PATIENCE)
    report = asyncio.run(storm.play(fault, app="hostile", hostile=hostile))
    assert not report.wrong, f"seed {SEED}: {report}"
    assert report.outcome == "finished"


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """One process, with its log in a file."""
    folder = tmp_path_factory.mktemp("single")
    made = Replicas(folder, lease=LEASE, agents=AGENTS, words=ALIKE, in_file=True, after="0.5")
    try:
        made.start()
        yield made
    finally:
        made.close()


ALONE = [("locked", "block"), ("disk", "leave"), ("kill", "hang"), ("kill", "block")]


@pytest.mark.parametrize(("fault", "hostile"), ALONE, ids=lambda value: value)
def test_a_single_process_with_its_log_in_a_file(
    single: Replicas, fault: str, hostile: str
) -> None:
    """Its file is locked, or cannot grow, or the process is killed and started again."""
    storm = Storm(single, LEASE, SEED, viewers=3, slack=PATIENCE, outage=7.0)
    report = asyncio.run(storm.play(fault, app="hostile", hostile=hostile))
    assert not report.wrong, f"seed {SEED}: {report}"
    assert report.outcome == "finished"
