"""How many runs a user may have at a time, and how long one may take, watched or not.

A run belongs to the server and continues without its client, so something has to stop those that nobody wants
any more. A client that follows a run's log watches it. A run that nobody has watched for too long, or that
takes too long, is stopped. It fails with the limit's name as its code, which its clients and the operator can
read.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from adk_prism.errors import TooMany
from adk_prism.extension import Limiter, Stop
from adk_prism.features.limits import CallerLimits
from adk_prism.features.limits.callers import AGAIN, Refused
from adk_prism.features.limits.shared import SharedLimits
from adk_prism.log.coordination import LimitCheck, Member, UsageLimits
from adk_prism.log.entry import Origin, RunId

RUN_TIME, UNWATCHED = "run_time_limit", "unwatched_limit"
"""Codes of runs that a limit has ended."""


class _Timed(Struct, eq=False):
    """A run's timers."""

    stop: Stop
    age: asyncio.TimerHandle | None = None
    unwatched: asyncio.TimerHandle | None = None

    def cancel(self) -> None:
        for timer in (self.age, self.unwatched):
            if timer is not None:
                timer.cancel()


class RunLimiter(Limiter):
    """Limits runs: those of one process, and who has them."""

    def __init__(
        self, limits: CallerLimits, refused: Refused, shared: SharedLimits | None = None
    ) -> None:
        """`shared` counts what other processes have."""
        self._limits = limits
        self._shared = SharedRunCount(shared, limits.runs, refused) if shared is not None else None
        self._refused = refused
        self._users: dict[str, Counter[Origin]] = {}
        self._timed: dict[RunId, _Timed] = {}
        self._watchers: Counter[RunId] = Counter()

    # ------------------------------------------------------------------ how many

    @asynccontextmanager
    async def entering(
        self, origin: Origin, *, must: bool = False, runs_agent: bool = True
    ) -> AsyncIterator[None]:
        """Note that a session is about to have a run; forget it if the block fails.

        A session has one run at a time, so sessions are counted. Raise `TooMany` for one too many, unless
        it `must` be taken.
        """
        del runs_agent  # whatever it does, its session is busy
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


# ---------------------------------------------------------------------- all replicas

_ANY_NUMBER = 2**31


class SharedRunCount:
    """How many runs a user has, counted for all replicas.

    A session has one run at a time, so sessions are counted. Where another replica takes over the run of a
    session, or interrupts it, both count it for a moment as one.
    """

    def __init__(self, shared: SharedLimits, most: int, refused: Refused) -> None:
        self._shared = shared
        self._most = most
        self._refused = refused
        self._here: Counter[Origin] = Counter()
        self._members: dict[Origin, Member] = {}

    async def enter(self, origin: Origin, *, must: bool = False) -> None:
        """Count a run that is about to start. Raise `TooMany` for one too many, unless it `must`."""
        if not self._most:
            return
        allowed = UsageLimits(open=_ANY_NUMBER if must else self._most)
        name = hashlib.sha256(f"{origin.app}\0{origin.session}".encode()).hexdigest()[:32]
        answer = await self._shared.enter(f"user {origin.user}", "runs", allowed, name)
        if isinstance(answer, LimitCheck):
            self._refused("runs")
            text = (
                f"You already have {self._most} active runs, the limit; wait for one, or stop it."
            )
            raise TooMany(text, AGAIN)
        self._members[origin] = answer
        self._here[origin] += 1

    async def leave(self, origin: Origin) -> None:
        """Count a run that is over no more."""
        if not self._here[origin]:
            del self._here[origin]
            return
        self._here[origin] -= 1
        if not self._here[origin]:
            del self._here[origin]
            await self._shared.leave(self._members.pop(origin))
