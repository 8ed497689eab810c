"""Rate limits per host, over all searches that share a limiter.

Turns are given in the order of asking: each takes the next free moment of its host. A host that said
"too many" is left alone until the time it named.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from .clock import Clock, SystemClock
from .database import RateLimit


@dataclass(slots=True)
class _Host:
    next_turn: float = 0.0
    places: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = field(default_factory=dict)


class Limiter:
    """One per process: pass the same one to every search."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str, rate_limit: RateLimit) -> AsyncIterator[None]:
        """Wait for the host's next free moment; the place is free again when the block ends."""
        known = self._hosts.setdefault(host, _Host())
        async with self._place(known, rate_limit):
            now = self._clock.now()
            mine = max(now, known.next_turn)
            known.next_turn = mine + rate_limit.interval
            if mine > now:
                await self._clock.sleep(mine - now)
            yield

    def hold(self, host: str, seconds: float) -> None:
        """Leave the host alone for a while."""
        known = self._hosts.setdefault(host, _Host())
        known.next_turn = max(known.next_turn, self._clock.now() + seconds)

    def wait(self, host: str) -> float:
        """Return the seconds until the host's next free moment."""
        known = self._hosts.get(host)
        return max(0.0, known.next_turn - self._clock.now()) if known else 0.0

    def _place(self, host: _Host, rate_limit: RateLimit) -> asyncio.Semaphore:
        """Return the host's semaphore of this event loop, which an older loop's could not serve."""
        loop = asyncio.get_running_loop()
        for old in [known for known in host.places if known.is_closed()]:
            del host.places[old]
        return host.places.setdefault(loop, asyncio.Semaphore(rate_limit.at_once))
