"""A place where one process puts something down for a short time, and any process takes it away, once.

For what replicas have to share and no log should keep. There is one only where processes share a store;
elsewhere whoever needs it keeps such things in its own memory.
"""

from __future__ import annotations

from typing import Protocol


class ExpiringStore(Protocol):
    """Holds small things by name."""

    async def open(self) -> None:
        """Make ready."""

    async def close(self) -> None:
        """Let go of the store."""

    async def put(self, name: str, value: bytes, seconds: float) -> None:
        """Put something down; after some seconds it is gone. Raise `LogError`."""

    async def take(self, name: str) -> bytes | None:
        """Take something away, if it is there: of all who try, one gets it. Raise `LogError`."""
