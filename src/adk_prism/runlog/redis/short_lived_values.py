"""An expiring store in Redis: keys with a time to live, taken with GETDEL (Redis 6.2)."""

from __future__ import annotations

from typing import cast

from adk_prism.runlog.redis.client import asking
from adk_prism.runlog.redis.keys import DEFAULT_PREFIX, Keys
from adk_prism.runlog.redis.writer import log_errors


class RedisShortLivedValues:
    """An `ShortLivedValues`."""

    def __init__(self, url: str, *, prefix: str = DEFAULT_PREFIX) -> None:
        self._redis = asking(url)
        self._keys = Keys(prefix)

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def put(self, name: str, value: bytes, seconds: float) -> None:
        """Store a value."""
        with log_errors("Shared data cannot be written to Redis"):
            await self._redis.set(self._keys.expiring(name), value, px=int(seconds * 1000))

    async def take(self, name: str) -> bytes | None:
        """Remove a value and return it."""
        with log_errors("Shared data cannot be read from Redis"):
            found = await self._redis.getdel(self._keys.expiring(name))
        return cast("bytes | None", found)  # what is not decoded is bytes
