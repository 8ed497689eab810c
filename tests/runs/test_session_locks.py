"""One run per session at a time: who gets a session, who waits, who is stopped."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from tests.patience import PATIENCE
from tests.runs.shared_leases import SharedLeases, Table

from adk_prism.errors import Conflict
from adk_prism.log.entry import Origin
from adk_prism.runs.session_locks import Policy, SessionLocks

HERE = Origin(app="app", user="user", session="session")


class Run:
    """Something that holds a session, and counts how often it was told to stop."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


async def turns() -> None:
    """Let every task get as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def acquired(locks: SessionLocks, policy: Policy = "wait", origin: Origin = HERE) -> Run:
    run = Run()
    await asyncio.wait_for(locks.acquire(origin, policy, run.stop), PATIENCE)
    return run


@dataclass(frozen=True)
class Case:
    policy: Policy
    is_refused: bool
    stops: int
    """How often whoever holds the session is told to stop."""


CASES = [Case("refuse", True, 0), Case("wait", False, 0), Case("interrupt", False, 1)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.policy)
@pytest.mark.parametrize("processes", [1, 2])
async def test_what_a_second_comer_gets(case: Case, processes: int) -> None:
    """In the same process and from another one; whoever waits has it once it is released."""
    table = Table()
    one = SessionLocks(SharedLeases(table))
    other = one if processes == 1 else SessionLocks(SharedLeases(table))
    first = await acquired(one)
    coming = asyncio.create_task(acquired(other, case.policy))
    await turns()
    assert coming.done() == case.is_refused
    assert bool(first.stops) == bool(case.stops)
    if case.is_refused:
        with pytest.raises(Conflict):
            await coming
        await one.release(HERE)
        return
    await one.release(HERE)
    second = await asyncio.wait_for(coming, PATIENCE)
    assert second.stops == 0
    await other.release(HERE)
    assert not one.is_held(HERE)
    assert not other.is_held(HERE)


async def test_who_interrupts_stops_everybody_before_it() -> None:
    """Not only the run that is active: also one that came before it and gets the session first."""
    locks = SessionLocks()
    active = await acquired(locks)
    patient = asyncio.create_task(acquired(locks))
    await turns()
    impatient = asyncio.create_task(acquired(locks, "interrupt"))
    await turns()
    assert active.stops == 1
    await locks.release(HERE)
    assert (await asyncio.wait_for(patient, PATIENCE)).stops == 1
    await locks.release(HERE)
    assert (await asyncio.wait_for(impatient, PATIENCE)).stops == 0
    await locks.release(HERE)


@pytest.mark.parametrize("field", ["app", "user", "session"])
async def test_sessions_do_not_wait_for_each_other(field: str) -> None:
    """A session is named by its app, its user and its id."""
    locks = SessionLocks()
    names = {"app": HERE.app, "user": HERE.user, "session": HERE.session, field: "another"}
    other = Origin(**names)
    await acquired(locks)
    await acquired(locks, "refuse", other)
    await locks.release(other)
    assert locks.is_held(HERE)
    assert not locks.is_held(other)


async def test_two_kinds_of_locks_share_a_table_of_leases() -> None:
    """A lock of one kind says nothing about another kind."""
    leases = SharedLeases(Table())
    await acquired(SessionLocks(leases, "session"))
    await acquired(SessionLocks(leases, "key"), "refuse")


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_waiter_that_gives_up_leaves_nothing_behind(processes: int) -> None:
    """Its client went away while it waited."""
    table = Table()
    one = SessionLocks(SharedLeases(table))
    other = one if processes == 1 else SessionLocks(SharedLeases(table))
    await acquired(one)
    waiting = asyncio.create_task(acquired(other))
    await turns()
    waiting.cancel()
    await asyncio.wait([waiting])
    await one.release(HERE)
    assert not other.is_held(HERE)
    assert await other.try_acquire(HERE, Run().stop)


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_stop_waits_for_the_end(processes: int) -> None:
    """Of a run here or in another process; nothing to stop is no error."""
    table = Table()
    one = SessionLocks(SharedLeases(table))
    other = one if processes == 1 else SessionLocks(SharedLeases(table))
    assert not await other.stop(HERE)
    run = await acquired(one)
    stopping = asyncio.create_task(other.stop(HERE))
    await turns()
    assert not stopping.done()
    assert run.stops
    await one.release(HERE)
    assert await asyncio.wait_for(stopping, PATIENCE)
    assert not other.is_held(HERE)


async def test_a_state_change_waits_for_the_run() -> None:
    """`held` comes after the run that is active, and before the next one."""
    locks = SessionLocks()
    order: list[str] = []

    async def change() -> None:
        async with locks.held(HERE):
            order.append("change")
            await turns()
            order.append("changed")

    run = await acquired(locks)
    changing = asyncio.create_task(change())
    await turns()
    following = asyncio.create_task(acquired(locks))
    order.append("run ends")
    await locks.release(HERE)
    await asyncio.gather(changing, following)
    assert order == ["run ends", "change", "changed"]
    assert run.stops == 0


async def test_a_change_that_fails_lets_go() -> None:
    """The session is free again."""
    locks = SessionLocks()
    with pytest.raises(RuntimeError):
        async with locks.held(HERE):
            raise RuntimeError
    await acquired(locks, "refuse")


async def test_a_takeover_takes_only_what_is_free() -> None:
    """It never waits: not for a run, not for somebody who waits."""
    table = Table()
    one, other = SessionLocks(SharedLeases(table)), SessionLocks(SharedLeases(table))
    await acquired(one)
    assert not await one.try_acquire(HERE, Run().stop)
    assert not await other.try_acquire(HERE, Run().stop)
    await one.release(HERE)
    taker = Run()
    assert await other.try_acquire(HERE, taker.stop)
    waiting = asyncio.create_task(acquired(one, "interrupt"))
    await turns()
    assert taker.stops
    await other.release(HERE)
    await asyncio.wait_for(waiting, PATIENCE)


async def test_the_session_of_a_dead_process_is_free() -> None:
    """Its lease has lapsed, and whoever waited gets it."""
    table = Table()
    dead = SharedLeases(table)
    await acquired(SessionLocks(dead))
    other = SessionLocks(SharedLeases(table))
    waiting = asyncio.create_task(acquired(other))
    await turns()
    assert not waiting.done()
    dead.die()
    await asyncio.wait_for(waiting, PATIENCE)
