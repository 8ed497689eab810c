"""Values that one process stores for a short time, and that any process takes once (tickets).

For values that replicas share and that do not belong in a log. It exists only if processes share a store;
otherwise such values are kept in memory.
"""

from __future__ import annotations

from typing import Protocol


class ShortLivedValues(Protocol):
    """Small values by name, with a time to live."""

    async def open(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Disconnect."""

    async def put(self, name: str, value: bytes, seconds: float) -> None:
        """Store a value for some seconds. Raise `LogError`."""

    async def take(self, name: str) -> bytes | None:
        """Remove a value and return it; of several processes that try, one gets it. Raise `LogError`."""
