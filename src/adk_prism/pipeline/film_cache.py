"""Cached films of runs: computed once, fed only what is new, evicted when unused.

Scrubbing asks for the same run at one cursor after the other, and a live run grows between two looks.
So the film stays, and each look feeds it the entries that were committed since.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

from adk_prism.facts.pricing import Prices
from adk_prism.pipeline.off_loop import feed_run
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import RunId
from adk_prism.view.film import Film

KEPT_FILMS = 16
"""Films cached at the same time: a few people with a few windows each."""
KEPT_BYTES = 128 * 1024**2
"""Stored size of their runs, together; a film is about as large as what it was folded from. The last
one looked at stays, whatever its size, until nobody has looked at it for `KEPT_SECONDS`."""
KEPT_SECONDS = 120.0
"""For which a film is kept that nobody looks at: a person who reads what is shown comes back sooner."""


class _Kept:
    """A film, and the lock that lets one look at a time feed it."""

    __slots__ = ("bytes", "expiry", "film", "lock")

    def __init__(self, prices: Prices) -> None:
        self.film = Film(prices)
        self.lock = asyncio.Lock()
        self.bytes = 0
        self.expiry: asyncio.TimerHandle | None = None


class Films:
    """The films of one server."""

    def __init__(
        self,
        log: RunLog,
        films: int = KEPT_FILMS,
        size: int = KEPT_BYTES,
        prices: Prices | None = None,
    ) -> None:
        self._log = log
        self._prices = prices or Prices()
        self._films = films
        self._size = size
        self._kept: OrderedDict[RunId, _Kept] = OrderedDict()
        """The least recently used first."""
        self.waiting: set[asyncio.Timeout] = set()
        """The limits of those who wait for news."""

    async def of(self, run: RunId) -> Film:
        """Return the film of a run, up to its last committed entry. Raise `NotFound` or `Gone`."""
        async with self.held(run) as film:
            return film

    @asynccontextmanager
    async def held(self, run: RunId) -> AsyncIterator[Film]:
        """Give the film of a run, which does not grow meanwhile: it can be read in a thread.

        Raise `NotFound` or `Gone`.
        """
        try:
            summary = await self._log.summary(run)
        except Exception:
            self._kept.pop(run, None)  # gone from the log
            raise
        kept = self._kept.setdefault(run, _Kept(self._prices))
        self._kept.move_to_end(run)
        async with kept.lock:
            try:
                await feed_run(self._log, run, kept.film.feed, kept.film.last)
            except BaseException:
                # Not readable, or left halfway: nothing half folded is kept.
                self._kept.pop(run, None)
                raise
            kept.bytes = summary.bytes
            self._forget()
            self._expire(run, kept)
            yield kept.film

    def _expire(self, run: RunId, kept: _Kept) -> None:
        """Forget a film some time from now, unless somebody looks at it before."""
        if kept.expiry is not None:
            kept.expiry.cancel()
        loop = asyncio.get_running_loop()
        kept.expiry = loop.call_later(KEPT_SECONDS, self._drop, run, kept)

    def _drop(self, run: RunId, kept: _Kept) -> None:
        if self._kept.get(run) is kept:
            del self._kept[run]

    async def past(self, run: RunId, cursor: int, patience: float) -> Film:
        """Return the film once it goes past a cursor, the run is over, or patience has run out."""
        film = await self.of(run)
        if film.last != cursor or film.ended is not None:
            return film
        with suppress(TimeoutError):
            async with asyncio.timeout(patience) as limit:
                self.waiting.add(limit)
                try:
                    async with aclosing(self._log.read(run, cursor, follow=True)) as batches:
                        await anext(batches, None)
                finally:
                    self.waiting.discard(limit)
        return await self.of(run)

    def leave_all(self) -> None:
        """Wake all waiting requests: the server stops."""
        for limit in self.waiting:
            if not limit.expired():
                limit.reschedule(0)

    def _forget(self) -> None:
        total = sum(kept.bytes for kept in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > self._films or total > self._size):
            _, oldest = self._kept.popitem(last=False)
            total -= oldest.bytes
