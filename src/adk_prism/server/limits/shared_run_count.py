"""How many runs a user has, counted for all replicas.

A session has one run at a time, so sessions are counted. Where another replica takes over the run of a
session, or interrupts it, both count it for a moment as one.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from adk_prism.errors import TooMany
from adk_prism.pipeline.quota import AGAIN, Refused
from adk_prism.runlog.entry import Origin
from adk_prism.runlog.usage_counters import LimitCheck, Member, UsageLimits
from adk_prism.server.limits.shared_limits import SharedLimits

_ANY_NUMBER = 2**31


class SharedRunCount:
    """The runs of all users."""

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
