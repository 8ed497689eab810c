"""Slows down who tries tokens: each wrong one of an address is answered later than the one before.

A right token is answered at once, whoever else tries some from the same address. Only so many answers are
delayed at a time; the rest is refused with 429, so that nobody holds connections by being wrong.
"""

from __future__ import annotations

import time
from asyncio import sleep
from collections.abc import Callable

from adk_prism.errors import TooMany
from adk_prism.server.limits.connections import counted_address

FREE = 10
"""Wrong tokens of an address that are answered at once: of a page with an old token, and its retries."""
FIRST, LONGEST = 0.1, 1.0
"""Seconds of delay: of the next one, doubled with each, and at most."""
FORGET = 60.0
"""Seconds after its last wrong token for which an address is remembered."""
MOST_WAITING = 16
"""Delayed answers of one address."""
MOST_ADDRESSES = 4096
"""Remembered at a time: the oldest go first. Some hundred kilobytes."""


class _Address:
    __slots__ = ("last", "waiting", "wrong")

    def __init__(self) -> None:
        self.wrong = self.waiting = 0
        self.last = 0.0


class WrongTokens:
    """The addresses that sent wrong tokens lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_address: dict[str, _Address] = {}

    def __len__(self) -> int:
        """Return how many addresses are remembered."""
        return len(self._by_address)

    async def delay(self, host: str) -> None:
        """Wait before a wrong token is refused. Raise `TooMany` instead if too many of its address wait."""
        address = counted_address(host)
        seconds = self.note(address)
        if not seconds:
            return
        found = self._by_address[address]
        if found.waiting >= MOST_WAITING:
            raise TooMany("Too many wrong tokens from this address.", LONGEST)
        found.waiting += 1
        try:
            await sleep(seconds)
        finally:
            found.waiting -= 1

    def note(self, address: str) -> float:
        """Count a wrong token; return for how long its answer waits."""
        now = self._clock()
        found = self._by_address.pop(address, None)
        if found is None or (now - found.last > FORGET and not found.waiting):
            found = _Address()
        self._by_address[address] = found
        while len(self._by_address) > MOST_ADDRESSES:
            del self._by_address[next(iter(self._by_address))]
        found.wrong += 1
        found.last = now
        over = found.wrong - FREE
        return 0.0 if over <= 0 else min(LONGEST, FIRST * 2 ** min(over - 1, 10))
