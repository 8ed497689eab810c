"""Limits of callers, counted in Redis for all replicas.

Redis is asked about callers who are within the limits of this process. A Redis that is down or slow does not
block requests: after a short timeout, and for some seconds from then on, this process counts alone, and
reports it.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from adk_prism.errors import Diagnostic, LogError, Report, TooMany, cause_of
from adk_prism.log.contract import SECONDS, LimitCheck, Member, UsageCounters, UsageLimits
from adk_prism.log.entry import Origin
from adk_prism.log.private_files import cancel_task
from adk_prism.runs.session_locks import AGAIN, Refused

BOUND = 0.25
"""Seconds that a request waits for Redis: many times the usual response time."""

ALONE = 5.0
"""Seconds for which Redis is not asked again after a timeout."""

FLUSH = 0.5
"""Seconds between two updates of the byte counts; sending does not wait for them."""

_Answer = TypeVar("_Answer")


class SharedLimits:
    """Counts for all processes; where that is not possible, everything is allowed."""

    def __init__(self, counts: UsageCounters, report: Report) -> None:
        self._counts = counts
        self._report = report
        self._process = uuid.uuid4().hex
        self._number = 0
        self._open: set[Member] = set()
        self._used: Counter[tuple[str, float]] = Counter()
        """Bytes used since the last update, by caller and its bytes per second."""
        self._waits: dict[str, float] = {}
        """Until when a caller that used too much waits."""
        self._alone_until = 0.0
        self._is_alone = False

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[None]:
        """Renew open members and update byte counts inside the `async with` block."""
        await self._counts.open()
        tasks = [asyncio.create_task(each) for each in (self._renew(), self._flush())]
        try:
            yield
        finally:
            for task in tasks:
                await cancel_task(task)
            for member in list(self._open):
                await self.leave(member)
            await self._counts.close()

    async def enter(
        self, name: str, kind: str, allowed: UsageLimits, member: str = ""
    ) -> LimitCheck | Member:
        """Count a request, socket or run; return the exceeded limit, or the member to `leave` with."""
        self._number += 1
        wanted = Member(name, member or f"{self._process}:{self._number}", kind)
        verdict = await self._ask(lambda: self._counts.enter(wanted, allowed))
        if verdict is not None and verdict.exceeded:
            return verdict
        if allowed.open:
            self._open.add(wanted)
        return wanted

    async def leave(self, member: Member) -> None:
        """Stop counting a member; if Redis cannot be reached, the member expires."""
        if member in self._open:
            self._open.discard(member)
            await self._ask(lambda: self._counts.leave(member))

    def use(self, name: str, amount: int, rate: float) -> float:
        """Count bytes; return for how many seconds the next ones should wait."""
        if not amount or not rate:
            return 0.0
        self._used[name, rate] += amount
        return max(0.0, self._waits.get(name, 0.0) - asyncio.get_running_loop().time())

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(SECONDS / 3)
            if self._open:
                await self._ask(lambda: self._counts.renew(list(self._open)))

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(FLUSH)
            self._waits = {name: end for name, end in self._waits.items() if end > loop.time()}
            if not self._used:
                continue
            used = [(name, amount, rate) for (name, rate), amount in self._used.items()]
            self._used.clear()
            waits = await self._ask(lambda used=used: self._counts.use(used))  # type: ignore[misc] # bound now
            for (name, _, _), seconds in zip(used, waits or (), strict=False):
                if seconds:
                    self._waits[name] = loop.time() + seconds

    async def _ask(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """Ask Redis; return None after a timeout, now or in the last seconds."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._alone_until:
            return None
        try:
            async with asyncio.timeout(BOUND):
                answer = await question()
        except (LogError, TimeoutError) as error:
            self._alone_until = loop.time() + ALONE
            if not self._is_alone:
                text = "callers' limits are counted by this process alone until Redis answers"
                self._report(
                    Diagnostic(kind="limits not shared", detail=text, cause=cause_of(error))
                )
            self._is_alone = True
            return None
        self._is_alone = False
        return answer


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
