"""Runs on the memory log, without HTTP: how they start, end, wait for each other and are drained."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

import pytest
from tests.patience import PATIENCE
from tests.runs.shared_leases import SharedLeases, Table
from tests.runs.sources import HERE, NeverBegins, Script, event

from adk_prism.adk.request import Emit
from adk_prism.errors import Conflict, Diagnostic, Draining, NotFound, UsageError
from adk_prism.extension import Limiter
from adk_prism.facts.run_reader import Reader
from adk_prism.log.coordination import Lease
from adk_prism.log.entry import Entry, Origin, Record, RunEnded, RunId, RunStarted, RunTakenOver
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.recorder import STOPPED, Past
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import Policy, SessionLocks

ELSEWHERE = Origin(app="other", user="user", session="another")


@pytest.fixture
async def log() -> AsyncIterator[MemoryLog]:
    made = MemoryLog()
    await made.open()
    yield made
    await made.close()


class Kept:
    """Keeps what the operator is told."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def __call__(self, diagnostic: Diagnostic) -> None:
        self.kinds.append(diagnostic.kind)


def runs_on(log: MemoryLog, limiter: Limiter | None = None) -> Runs:
    return Runs(log, SessionLocks(), Kept(), limiter=limiter)


async def begin(
    runs: Runs, script: Script | None = None, policy: Policy = "refuse", origin: Origin = HERE
) -> tuple[RunId, Script]:
    script = script or Script(origin)
    return await asyncio.wait_for(runs.start(origin, policy, script.make), PATIENCE), script


async def entries(log: MemoryLog, run: RunId) -> list[Entry]:
    return [entry async for batch in log.read(run) for entry in batch]


async def end_of(runs: Runs, log: MemoryLog, run: RunId) -> RunEnded:
    await asyncio.wait_for(runs.wait(run), PATIENCE)
    last = (await entries(log, run))[-1].record
    assert isinstance(last, RunEnded)
    return last


# ------------------------------------------------------------------ beginning and end


async def test_a_run_that_was_started_can_be_read(log: MemoryLog) -> None:
    """Its first record is committed when `start` returns, and says whose it is."""
    locks = SessionLocks()
    runs = Runs(log, locks, Kept())
    run, script = await begin(runs)
    (first,) = await entries(log, run)
    assert isinstance(first.record, RunStarted)
    assert (first.record.run, first.record.origin) == (run, HERE)
    assert runs.is_active(run)
    assert locks.is_held(HERE)
    assert runs.by_app() == {"app": 1}
    script.end()
    await end_of(runs, log, run)
    assert not runs.is_active(run)
    assert not locks.is_held(HERE)
    assert not runs.by_app()


@dataclass(frozen=True)
class Ending:
    id: str
    said: tuple[Record, ...]
    error: BaseException | None
    outcome: str
    code: str = ""


ENDINGS = [
    Ending("nothing more", (), None, "finished"),
    Ending("a text", (event("Hello."),), None, "finished"),
    Ending("an exception", (event("Hello."),), KeyError("x"), "failed", "KeyError"),
    Ending("an error of ours", (), UsageError("no"), "failed", "usage-error"),
    Ending("an exit", (), SystemExit(2), "failed", "SystemExit"),
    Ending("a cancellation of its own", (), asyncio.CancelledError(), "failed", "CancelledError"),
    Ending(
        "an end of its own", (RunEnded(outcome="waiting", code="x"),), None, "waiting", code="x"
    ),
]


@pytest.mark.parametrize("case", ENDINGS, ids=lambda case: case.id)
async def test_every_source_ends_its_run(case: Ending, log: MemoryLog) -> None:
    """Once, with the truth; and the session is free."""
    runs = runs_on(log)
    run, script = await begin(runs)
    script.say(*case.said)
    script.end() if case.error is None else script.fail(case.error)
    end = await end_of(runs, log, run)
    assert (end.outcome, end.code) == (case.outcome, case.code or "")
    written = [entry.record for entry in await entries(log, run)]
    assert sum(isinstance(record, RunEnded) for record in written) == 1
    again, second = await begin(runs)
    second.end()
    assert (await end_of(runs, log, again)).outcome == "finished"


def _refuses() -> None:
    raise UsageError("This is not possible.")


@pytest.mark.parametrize(
    ("fail", "expected"), [(_refuses, UsageError), (lambda: None, RuntimeError)]
)
async def test_a_source_that_never_begins_is_no_run(
    fail: type, expected: type[Exception], log: MemoryLog
) -> None:
    """Whoever asked is told why; nothing is in the log, and the session is free."""
    runs = runs_on(log)
    with pytest.raises(expected):
        await runs.start(HERE, "refuse", lambda _: NeverBegins(fail))
    assert await log.list() == []
    run, script = await begin(runs)
    script.end()
    await end_of(runs, log, run)


# ------------------------------------------------------------------ two for one session


async def test_a_second_run_is_refused(log: MemoryLog) -> None:
    """The first goes on, and another session is not concerned."""
    runs = runs_on(log)
    first, script = await begin(runs)
    with pytest.raises(Conflict):
        await begin(runs)
    elsewhere, other = await begin(runs, origin=ELSEWHERE)
    for each in (script, other):
        each.end()
    assert (await end_of(runs, log, first)).outcome == "finished"
    assert (await end_of(runs, log, elsewhere)).outcome == "finished"


@pytest.mark.parametrize(("policy", "outcome"), [("interrupt", "cancelled"), ("wait", "finished")])
async def test_a_second_run_comes_after_the_first(
    policy: Policy, outcome: str, log: MemoryLog
) -> None:
    """It stops the first one, or waits for its end; they never overlap."""
    runs = runs_on(log)
    first, script = await begin(runs)
    coming = asyncio.create_task(begin(runs, policy=policy))
    if policy == "wait":
        script.say(event("Hello."))
        script.end()
    second, following = await asyncio.wait_for(coming, PATIENCE)
    assert (await end_of(runs, log, first)).outcome == outcome
    following.end()
    assert (await end_of(runs, log, second)).outcome == "finished"


# ------------------------------------------------------------------ stopping


async def test_a_run_is_cancelled_once(log: MemoryLog) -> None:
    """The answer comes after its end; asking again, or after a natural end, changes nothing."""
    runs = runs_on(log)
    run, script = await begin(runs)
    assert (await asyncio.wait_for(runs.cancel(run), PATIENCE)).outcome == "cancelled"
    before = len(await entries(log, run))
    assert (await runs.cancel(run)).outcome == "cancelled"
    assert (len(await entries(log, run)), script.cancels) == (before, 1)
    ended, other = await begin(runs)
    other.end()
    await end_of(runs, log, ended)
    assert (await runs.cancel(ended)).outcome == "finished"
    with pytest.raises(NotFound):
        await runs.cancel(RunId("run-unknown"))


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_drain_ends_what_runs(stubborn: bool, log: MemoryLog) -> None:
    """Late runs are stopped, also one whose source ignores it; new ones are refused."""
    runs = runs_on(log)
    late, _ = await begin(runs, Script(stubborn=stubborn))
    soon, quick = await begin(runs, origin=ELSEWHERE)
    quick.end()
    await asyncio.wait_for(runs.drain(0.05), PATIENCE)
    assert (await end_of(runs, log, soon)).outcome == "finished"
    end = await end_of(runs, log, late)
    assert (end.outcome, end.code) == ("failed", STOPPED)
    with pytest.raises(Draining):
        await begin(runs)


async def test_a_drain_of_nothing_ends_at_once(log: MemoryLog) -> None:
    """However long the grace is."""
    await asyncio.wait_for(runs_on(log).drain(3600), PATIENCE)


# ------------------------------------------------------------------ another process


async def test_a_run_elsewhere_is_cancelled_from_here(log: MemoryLog) -> None:
    """Whoever records it hears of it, and the answer comes after its end."""
    table = Table()
    one, other = (
        Runs(log, SessionLocks(leases), Kept(), leases)
        for leases in (SharedLeases(table), SharedLeases(table))
    )
    run, _ = await begin(one)
    assert not other.is_active(run)
    assert (await asyncio.wait_for(other.cancel(run), PATIENCE)).outcome == "cancelled"


async def test_a_run_without_an_owner_is_continued_once(log: MemoryLog) -> None:
    """Not while somebody records it; then by one process, with the next epoch."""
    table = Table()
    dead, *others = (SharedLeases(table) for _ in range(3))
    first = Runs(log, SessionLocks(dead), Kept(), dead)
    run, script = await begin(first)
    takers = [Runs(log, SessionLocks(leases), Kept(), leases) for leases in others]
    scripts: list[Continued] = []

    async def adopt(lease: Lease) -> tuple[Continued, Past]:
        head = (await entries(log, run))[0]
        reader = Reader()
        reader.feed(head)
        assert isinstance(head.record, RunStarted)
        scripts.append(Continued(lease.epoch))
        return scripts[-1], Past(head.record, reader)

    summary = await log.summary(run)
    assert [await taker.adopt(summary, adopt) for taker in takers] == [False, False]
    dead.die()
    assert [await taker.adopt(summary, adopt) for taker in takers] == [True, False]
    assert (await end_of(takers[0], log, run)).outcome == "finished"
    written = [entry.record for entry in await entries(log, run)]
    assert [type(record) for record in written] == [RunStarted, RunTakenOver, RunEnded]
    script.say(event("Too late."))  # the one that was taken for dead wakes up
    await asyncio.wait_for(first.wait(run), PATIENCE)
    assert [entry.record for entry in await entries(log, run)] == written
    assert not takers[0].is_active(run)


class Continued(Script):
    """What is left of a run: how it was taken over, and its end."""

    def __init__(self, epoch: int) -> None:
        super().__init__()
        self._epoch = epoch

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[Record | Entry, None]:
        del emit
        yield RunTakenOver(epoch=self._epoch)


async def test_a_run_that_cannot_be_continued_stays_to_be_had(log: MemoryLog) -> None:
    """What reading it raises is raised; the next one may try."""
    table = Table()
    dead, leases = SharedLeases(table), SharedLeases(table)
    run, script = await begin(Runs(log, SessionLocks(dead), Kept(), dead))
    dead.die()
    locks = SessionLocks(leases)
    taker = Runs(log, locks, Kept(), leases)

    async def unreadable(lease: Lease) -> tuple[Script, Past]:
        raise UsageError("What is in this log?")

    summary = await log.summary(run)
    with pytest.raises(UsageError):
        await taker.adopt(summary, unreadable)
    assert not locks.is_held(HERE)
    assert list(await leases.ownerless(log)) == [run]
    script.end()
