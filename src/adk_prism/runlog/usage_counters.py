"""Counters of open connections, rates and bytes for each caller, shared by all processes of a store.

The store measures the time. Counts that are not renewed expire: those of a dead process after `SECONDS`. Such
counters exist only if processes share a store; otherwise each process counts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

SECONDS = 30.0
"""How long something counts as open without a renewal."""

Exceeded = Literal["", "open", "rate", "bytes"]


class UsageLimits(Struct, frozen=True):
    """The limits; 0 is no limit."""

    open: int = 0
    rate: float = 0.0
    """A second."""
    burst: float = 0.0
    """At once."""
    bytes: float = 0.0
    """A second."""


class LimitCheck(Struct, frozen=True):
    """Whether something is within the limits."""

    exceeded: Exceeded = ""
    seconds: float = 0.0
    """Until it would be, if that is known."""


class Member(Struct, frozen=True):
    """Something open: its caller, its id and its kind. Each kind is counted separately."""

    name: str
    member: str
    kind: str


class UsageCounters(Protocol):
    """Counters that processes share. Every method raises `LogError` if the store is not reachable."""

    async def open(self) -> None:
        """Get ready; nothing is sent to the store."""

    async def close(self) -> None:
        """Disconnect."""

    async def enter(self, wanted: Member, allowed: UsageLimits) -> LimitCheck:
        """Count something that opens, if it is within the limits; otherwise count nothing."""

    async def renew(self, members: Iterable[Member]) -> None:
        """Keep things counted as open."""

    async def leave(self, member: Member) -> None:
        """Stop counting something as open."""

    async def use(self, used: Sequence[tuple[str, int, float]]) -> Sequence[float]:
        """Count bytes of callers (name, bytes, bytes per second); return how long each should wait."""
