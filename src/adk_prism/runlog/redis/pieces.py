"""Pieces in Redis: texts beside a run log, kept once per session in two hashes.

Numbers come from one counter for all sessions. Those that a call took and did not need stay unused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from adk_prism.runlog.entry import Origin
from adk_prism.runlog.pieces import SESSION_BYTES
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.redis.keys import Keys
from adk_prism.runlog.redis.scripts import PUT_PIECES, Script
from adk_prism.runlog.redis.writer import log_errors
from adk_prism.runlog.run_state import trimmed

_AT_ONCE = 500
"""Fields in one command."""


class RedisPieces:
    """Reads and writes the pieces of sessions. Raises `LogError`."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._put = Script(PUT_PIECES)

    async def ready(self) -> None:
        """Load the script; raise redis-py's own errors."""
        await self._put.ready(self._redis)

    async def find(self, origin: Origin, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Return the numbers of those pieces that a session has."""
        numbers, _ = self._keys.pieces(origin)
        found = await self._fields(numbers, digests)
        return {digest: int(number) for digest, number in found.items()}

    async def get(self, origin: Origin, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return pieces of a session by number."""
        _, pieces = self._keys.pieces(origin)
        return await self._fields(pieces, numbers)

    async def _fields(self, key: str, names: Sequence[Any]) -> dict[Any, bytes]:
        values: list[Any] = []
        with log_errors("Pieces cannot be read"):
            for start in range(0, len(names), _AT_ONCE):
                values += await self._redis.hmget(key, list(names[start : start + _AT_ONCE]))
        return {name: value for name, value in zip(names, values, strict=True) if value is not None}

    async def put(self, live: BufferedRun, new: Mapping[bytes, bytes]) -> dict[bytes, int]:
        """Store pieces; return their numbers, without those beyond the limit. Raise `Gone`."""
        with log_errors("Pieces could not be stored"):
            if not await self._redis.exists(self._keys.run(live.run).head):
                raise trimmed(live.run)
            last = int(await self._redis.incrby(self._keys.piece, len(new)))
            arguments: list[Any] = [SESSION_BYTES]
            for number, (digest, payload) in enumerate(new.items(), last - len(new) + 1):
                arguments += (digest, number, payload)
            keys = self._keys.pieces(live.origin)
            numbers = await self._put.call(self._redis, keys, arguments)
        return {digest: number for digest, number in zip(new, numbers, strict=True) if number}

    async def drop(self, origin: Origin) -> None:
        """Remove the pieces of a session without runs; raise redis-py's own errors."""
        if not await self._redis.zcard(self._keys.session(origin)):
            await self._redis.delete(*self._keys.pieces(origin))
