"""What one name has open and has used, counted for all processes that share a store.

The store measures the time, and forgets what nobody renews: a process that dies takes its share along after
`SECONDS`. There is a count only where processes share a store; elsewhere each counts for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

SECONDS = 30.0
"""How long something counts as open that is not renewed."""

Exceeded = Literal["", "open", "rate", "bytes"]


class UsageLimits(Struct, frozen=True):
    """The most of each; 0 is no limit."""

    open: int = 0
    rate: float = 0.0
    """A second."""
    burst: float = 0.0
    """At once."""
    bytes: float = 0.0
    """A second."""


class LimitCheck(Struct, frozen=True):
    """Whether something is let in."""

    exceeded: Exceeded = ""
    seconds: float = 0.0
    """After which there is room again, where that is known."""


class Member(Struct, frozen=True):
    """One thing that is open: whose, which, and of what kind. Each kind is counted by itself."""

    name: str
    member: str
    kind: str


class UsageCounters(Protocol):
    """Counters that processes share. Every method raises `LogError` if the store is not reachable."""

    async def open(self) -> None:
        """Make ready; nothing is asked of the store."""

    async def close(self) -> None:
        """Let go of the store."""

    async def enter(self, wanted: Member, allowed: UsageLimits) -> LimitCheck:
        """Count something that opens, if it is allowed; else nothing is counted."""

    async def renew(self, members: Iterable[Member]) -> None:
        """Keep things counted as open."""

    async def leave(self, member: Member) -> None:
        """Count something as open no more."""

    async def use(self, used: Sequence[tuple[str, int, float]]) -> Sequence[float]:
        """Take bytes from names with so many a second; return how long each should wait."""
