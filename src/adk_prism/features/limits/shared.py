"""What callers use, counted for all processes that share a run log.

The common counters are asked about callers who are within the limits of this process. A store that is down or
slow does not block requests: after a short timeout, and for some seconds from then on, this process counts
alone, and reports it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from adk_prism.errors import Diagnostic, LogError, Report, cause_of
from adk_prism.log.coordination import SECONDS, LimitCheck, Member, UsageCounters, UsageLimits
from adk_prism.log.private_files import cancel_task

BOUND = 0.25
"""Seconds that a request waits for the common counters: many times the usual response time."""

ALONE = 5.0
"""Seconds for which they are not asked again after a timeout."""

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
        """Stop counting a member; if the counters cannot be reached, the member expires."""
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
        """Ask the common counters; return None after a timeout, now or in the last seconds."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._alone_until:
            return None
        try:
            async with asyncio.timeout(BOUND):
                answer = await question()
        except (LogError, TimeoutError) as error:
            self._alone_until = loop.time() + ALONE
            if not self._is_alone:
                text = "callers' limits are counted by this process alone until the run log's store answers"
                self._report(
                    Diagnostic(kind="limits not shared", detail=text, cause=cause_of(error))
                )
            self._is_alone = True
            return None
        self._is_alone = False
        return answer
