"""What keeps one caller from taking all of a process: a rate with bursts, and turns for heavy work.

Limits that an operator sets are a feature (`features/limits`); these are always on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adk_prism.errors import Busy, TooMany
from adk_prism.server.identity.caller import Caller, account

# ---------------------------------------------------------------------- token bucket
#
# A token bucket: a rate limit that allows bursts.
#
# Not the package `limits`: it counts hits in windows, and cannot charge bytes after they were sent
# (`docs/decisions/0060-kept-by-hand.md`).


class TokenBucket:
    """Refills by `rate` tokens per second, up to `size`; it may be in debt. A rate of 0 is no limit."""

    __slots__ = ("_full", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._full = now
        """When it is full, if nothing more is taken."""

    def take(self, amount: float, now: float) -> None:
        """Take tokens, even if there are not enough."""
        if self._rate:
            self._full = max(self._full, now) + amount / self._rate

    def wait(self, amount: float, now: float) -> float:
        """Return in how many seconds there are enough tokens; 0: now."""
        if not self._rate:
            return 0.0
        spare = self._size - min(amount, self._size)
        return max(0.0, self._full - now - spare / self._rate)

    def is_full(self, now: float) -> bool:
        """Return whether the bucket is full."""
        return now >= self._full


# ---------------------------------------------------------------------- heavy work
#
# How many large runs are computed at a time: views, films, shared files, messages, threads, comparisons,
# eval cases.
#
# What is computed of a run takes time and memory in proportion to it, and one caller, perhaps with a share
# link, could ask for a large one a hundred times. So of large runs each caller has one at a time and the
# process two; a few requests wait, and any more are refused: 429 to a caller who asks for too much, 503 if
# it is the server that has too much to do, both with `Retry-After`. Small runs, nearly all, are not
# counted.

HEAVY = 1024**2
"""Bytes of runs that are large: below, an answer takes a tenth of a second at most."""
AT_A_TIME = 2
"""In one process: each takes some times its run's size in memory, and they share one interpreter."""
WAITING_OF_CALLER = 4
"""A page asks for the film, the messages and an entry or two of what it opens."""
WAITING = 32
"""Of all callers together: a wait of some ten seconds."""

_LATER = 2.0
"""Seconds after which it is worth asking again."""


class _Own:
    """What one caller is doing."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.count = 0


class HeavyWork:
    """Admits requests that compute something of large runs."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._by_caller: dict[str, _Own] = {}
        self._count = 0

    @asynccontextmanager
    async def slot(self, caller: Caller, size: int) -> AsyncIterator[None]:
        """Wait until work on so many bytes of runs may begin. Raise `TooMany` or `Busy`."""
        if size < HEAVY:
            yield
            return
        name = account(caller)
        own = self._by_caller.get(name) or _Own()
        if own.count > WAITING_OF_CALLER:
            raise TooMany(
                "Other large runs are being computed for you; ask again when they are done.", _LATER
            )
        if self._count > AT_A_TIME + WAITING:
            raise Busy("The server is computing other large runs; ask again in a moment.")
        self._by_caller[name] = own
        own.count, self._count = own.count + 1, self._count + 1
        try:
            async with own.lock, self._slots:
                yield
        finally:
            own.count, self._count = own.count - 1, self._count - 1
            if not own.count:
                del self._by_caller[name]
