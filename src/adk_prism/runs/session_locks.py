"""Locks on sessions: one run per session at a time.

ADK's persistent session services fail a run when anyone else writes to its session, and the in-memory one
lets two runs interleave. So every run, state change, rewind and deletion locks its session first: with an
asyncio lock within this process, and with a lease among all processes that share a log.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, TooMany
from adk_prism.log.coordination import Lease, Leases, LocalLeases
from adk_prism.log.entry import Origin, RunId

Policy = Literal["interrupt", "refuse", "wait"]
"""A second message while a run is active: stops that run, is refused, or waits for its end."""

Claim = Literal["stop", "interrupt"]
"""Why a run is to end: somebody stops it, or a newer message takes its place."""

SettleOrphans = Callable[[Origin, Claim | None], Awaitable[bool]]
"""Called with a session whose lock was just taken, where processes share a log: a dead process may have left
an open run in it, which is to end for this reason, or to be left. Returns whether the session is free."""

LOOK = 1.0
"""Seconds between two attempts while another process has the session: messages between processes can get
lost."""

_BUSY = "This session is running. Wait until it finishes, stop it, or use another session."


class _Slot(Struct, eq=False):
    """One session that is locked or waited for."""

    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    hold: Lease | None = None
    """The lease of the holder."""
    stop: Callable[[], None] | None = None
    impatient: int = 0
    """Waiters that interrupt the holder, also one that got the lock before them."""
    interest: int = 0
    """Holder and waiters; at zero the slot is dropped, so idle sessions cost nothing."""


@dataclass(eq=False)
class SessionLocks:
    """One lock per session, shared by all processes that share the leases."""

    leases: Leases = field(default_factory=LocalLeases)
    kind: str = "session"
    """Part of the leases' names: locks of different kinds do not block each other."""
    settle: SettleOrphans | None = None

    def __post_init__(self) -> None:
        self._slots: dict[str, _Slot] = {}
        self.leases.listen("stop", self._hear_stop)

    def _name(self, origin: Origin) -> str:
        return "\0".join((self.kind, origin.app, origin.user, origin.session))

    async def acquire(self, origin: Origin, policy: Policy, stop: Callable[[], None]) -> None:
        """Hold a session for a run that `stop` stops. Raise `Conflict` where policy refuses.

        Every `acquire` is followed by one `release`.
        """
        slot = self._slots.setdefault(self._name(origin), _Slot())
        refuses = policy == "refuse"
        if refuses and slot.lock.locked():
            raise Conflict(_BUSY)
        impatient = policy == "interrupt"
        if impatient and slot.stop is not None:
            slot.stop()
        slot.impatient += impatient
        try:
            await self._acquire(origin, slot, refuses=refuses)
        finally:
            slot.impatient -= impatient
        slot.stop = stop
        if slot.impatient:
            stop()

    async def try_acquire(self, origin: Origin, stop: Callable[[], None]) -> bool:
        """Lock a session for a run if it is free; return whether it was."""
        name = self._name(origin)
        if name in self._slots:
            return False
        slot = self._slots[name] = _Slot()
        slot.interest += 1
        try:
            await slot.lock.acquire()
            slot.hold = await self.leases.hold(name)
        finally:
            if slot.hold is None:
                self._let_go(name, slot)
        slot.stop = stop
        return slot.hold is not None

    async def release(self, origin: Origin) -> None:
        """Let go of a session."""
        name = self._name(origin)
        slot = self._slots[name]
        slot.stop = None
        hold, slot.hold = slot.hold, None
        try:
            if hold is not None:
                await self.leases.release(hold)
        finally:
            self._let_go(name, slot)

    @asynccontextmanager
    async def held(self, origin: Origin) -> AsyncIterator[None]:
        """Hold a session while no run is active on it, after the one that is."""
        slot = self._slots.setdefault(self._name(origin), _Slot())
        await self._acquire(origin, slot)
        try:
            yield
        finally:
            await self.release(origin)

    async def stop(self, origin: Origin) -> bool:
        """Stop the active run, if there is one, and wait for its end; return whether there was one."""
        name = self._name(origin)
        slot = self._slots.get(name)
        if slot is None:
            if not await self.leases.is_held(name):
                return False
            slot = self._slots.setdefault(name, _Slot())
        if slot.stop is not None:
            slot.stop()
        await self._acquire(origin, slot, stops=True)
        await self.release(origin)
        return True

    def is_held(self, origin: Origin) -> bool:
        """Return whether anyone in this process holds the session."""
        slot = self._slots.get(self._name(origin))
        return slot is not None and slot.lock.locked()

    async def _acquire(
        self, origin: Origin, slot: _Slot, *, refuses: bool = False, stops: bool = False
    ) -> None:
        slot.interest += 1
        try:
            await slot.lock.acquire()
        except BaseException:
            self._lose_interest(self._name(origin), slot)
            raise
        try:
            slot.hold = await self._hold(origin, slot, refuses, stops)
        except BaseException:
            self._let_go(self._name(origin), slot)
            raise

    async def _hold(self, origin: Origin, slot: _Slot, refuses: bool, stops: bool) -> Lease:
        """Take the session among all processes. Raise `Conflict` if it is not to be had at once."""
        name = self._name(origin)
        while True:
            hold = await self.leases.hold(name)
            if hold is not None:
                claim: Claim | None = "interrupt" if slot.impatient else None
                if await self._is_free(origin, hold, "stop" if stops else claim):
                    return hold
                await self.leases.release(hold)
            if refuses:
                raise Conflict(_BUSY)
            if stops or slot.impatient:
                await self.leases.say("stop", name)
            await self.leases.freed(name, LOOK)

    async def _is_free(self, origin: Origin, hold: Lease, claim: Claim | None) -> bool:
        if self.settle is None or not self.leases.is_shared:
            return True
        try:
            return await self.settle(origin, claim)
        except BaseException:
            await self.leases.release(hold)
            raise

    def _hear_stop(self, name: str) -> None:
        slot = self._slots.get(name)
        if slot is not None and slot.stop is not None:
            slot.stop()

    def _let_go(self, name: str, slot: _Slot) -> None:
        slot.lock.release()
        self._lose_interest(name, slot)

    def _lose_interest(self, name: str, slot: _Slot) -> None:
        slot.interest -= 1
        if not slot.interest:
            del self._slots[name]


# ---------------------------------------------------------------------------
# Limits on runs: how many a user may have at a time, and how long one may take, watched or not.
#
# A run belongs to the server and continues without its client, so something has to stop those that
# nobody wants any more. A client that follows a run's log watches it: the log calls `following` and
# `left`. A run that nobody has watched for too long, or that takes too long, is stopped. It fails
# with the limit's name as its code, which its clients and the operator can read.

AGAIN = 5.0
"""Seconds for `Retry-After`: it is not known when a run ends."""

RUN_TIME, UNWATCHED = "run_time_limit", "unwatched_limit"
"""Codes of runs that a limit has ended."""

Stop = Callable[[str], None]
"""Stops a run; takes the code with which it fails."""
Refused = Callable[[str], None]
"""Is called with the limit that was exceeded."""


def _nobody(limit: str) -> None:
    del limit


class RunLimits(Struct, frozen=True, kw_only=True):
    """The most of each; 0 is no limit."""

    runs: int = 0
    """Of one user, at a time."""
    run_time: float = 0.0
    unwatched: float = 0.0
    """Seconds without a client that follows the run."""


class SharedRuns(Protocol):
    """Counts the runs of a user in all processes."""

    async def enter(self, origin: Origin, *, must: bool = False) -> None:
        """Count a run that is about to start. Raise `TooMany` for one too many, unless it `must`."""

    async def leave(self, origin: Origin) -> None:
        """Count a run that is over no more. Never raises."""


class _Timed(Struct, eq=False):
    """A run's timers."""

    stop: Stop
    age: asyncio.TimerHandle | None = None
    unwatched: asyncio.TimerHandle | None = None

    def cancel(self) -> None:
        for timer in (self.age, self.unwatched):
            if timer is not None:
                timer.cancel()


class Quota:
    """The runs of one process, and who has them."""

    def __init__(
        self, limits: RunLimits, refused: Refused = _nobody, shared: SharedRuns | None = None
    ) -> None:
        """`shared` counts what other processes have."""
        self._limits = limits
        self._shared = shared
        self._refused = refused
        self._users: dict[str, Counter[Origin]] = {}
        self._timed: dict[RunId, _Timed] = {}
        self._watchers: Counter[RunId] = Counter()

    # ------------------------------------------------------------------ how many

    @asynccontextmanager
    async def entering(self, origin: Origin, *, must: bool = False) -> AsyncIterator[None]:
        """Note that a session is about to have a run; forget it if the block fails.

        A session has one run at a time, so sessions are counted. Raise `TooMany` for one too many, unless
        it `must` be taken.
        """
        sessions = self._users.setdefault(origin.user, Counter())
        most = self._limits.runs
        if most and not must and origin not in sessions and len(sessions) >= most:
            self._refused("runs")
            raise TooMany(
                f"You already have {most} active runs, the limit; wait for one, or stop it.",
                AGAIN,
            )
        sessions[origin] += 1
        if self._shared is not None:
            try:
                await self._shared.enter(origin, must=must)
            except BaseException:
                self._forget(origin)
                raise
        try:
            yield
        except BaseException:
            await self.leave(origin)
            raise

    async def leave(self, origin: Origin) -> None:
        """Note that a run of a session is over."""
        self._forget(origin)
        if self._shared is not None:
            await self._shared.leave(origin)

    def _forget(self, origin: Origin) -> None:
        sessions = self._users[origin.user]
        sessions[origin] -= 1
        if not sessions[origin]:
            del sessions[origin]
        if not sessions:
            del self._users[origin.user]

    # ------------------------------------------------------------------ how long

    def begin(self, run: RunId, stop: Stop) -> None:
        """Start a run's clocks; `stop` stops the run."""
        timed = self._timed[run] = _Timed(stop)
        if self._limits.run_time:
            timed.age = self._later(self._limits.run_time, run, RUN_TIME)
        if not self._watchers[run]:
            self._nobody_watches(run)

    def end(self, run: RunId) -> None:
        """Forget a run's clocks."""
        timed = self._timed.pop(run, None)
        if timed is not None:
            timed.cancel()

    def following(self, run: RunId) -> None:
        """Count a client that follows a run."""
        self._watchers[run] += 1
        timed = self._timed.get(run)
        if timed is not None and timed.unwatched is not None:
            timed.unwatched.cancel()

    def left(self, run: RunId) -> None:
        """Count one less."""
        self._watchers[run] -= 1
        if not self._watchers[run]:
            del self._watchers[run]
            self._nobody_watches(run)

    def _nobody_watches(self, run: RunId) -> None:
        timed = self._timed.get(run)
        if timed is not None and self._limits.unwatched:
            timed.unwatched = self._later(self._limits.unwatched, run, UNWATCHED)

    def _later(self, seconds: float, run: RunId, code: str) -> asyncio.TimerHandle:
        def end() -> None:
            timed = self._timed.get(run)
            if timed is not None:
                timed.stop(code)

        return asyncio.get_running_loop().call_later(seconds, end)
