"""Searches a log that keeps the digests itself, for all processes that share it.

The log has no full-text index, so a search looks at every digest, and their number is bounded. Each is read
once by a process, and again when its revision says that it was replaced; the log says which still count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import MsgspecError

from adk_prism.features.search import digest as digests
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import RunId

MOST_DIGESTS = 2000
"""The newest runs that can be found: some 10 MB in the log, and twice that in every process that searches."""

_AT_A_TIME = 200
"""Digests fetched in one round trip: about a megabyte."""


@runtime_checkable
class DigestStore(Protocol):
    """What a log has as `digests` if it keeps them: one of each of its newest runs. Raises `LogError`."""

    async def put(self, run: RunId, digest: bytes, most: int) -> None:
        """Store the digest of a run that has ended and is still there; the oldest beyond `most` go."""

    async def get(self, runs: Collection[RunId]) -> Sequence[tuple[RunSummary, bytes | None]]:
        """Return those runs that are there, and their digests."""

    async def numbers(self, most: int) -> dict[RunId, int]:
        """Return the places of the newest runs that have a digest in the order of starts, newest first."""

    async def revisions(self) -> Mapping[RunId, bytes]:
        """Return what is another value whenever a digest is replaced."""

    async def newest(self, most: int) -> Sequence[RunId]:
        """Return those of the newest runs that may have ended, with and without a digest."""

    async def count_ended(self) -> int:
        """Return how many runs have ended."""


class SharedSearch:
    """Is a `SearchIndex`."""

    def __init__(self, store: DigestStore, most: int = MOST_DIGESTS) -> None:
        self._store = store
        self._most = most
        self._kept: dict[RunId, digests.KeptDigest] = {}
        """Copies of those that were searched."""
        self._revisions: Mapping[RunId, bytes] = {}
        """Of the copies."""

    async def index(self, run: RunId, digest: digests.RunDigest) -> None:
        """Store a digest; the oldest ones beyond the limit go."""
        await self._store.put(run, digests.encode_digest(digest), self._most)

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        """Return runs among the newest that have ended and have no digest of this version."""
        newest = await self._store.newest(self._most)
        await self._refresh()
        # The log may name one that is gone.
        found = await self._store.get([run for run in newest if not self._has(run)])
        return [summary.run for summary, _ in found if summary.outcome is not None][:limit]

    def _has(self, run: RunId) -> bool:
        return run in self._kept and self._kept[run].digest.version >= digests.DIGEST_VERSION

    async def search(
        self, query: digests.RunQuery, *, limit: int, before: int | None = None
    ) -> digests.SearchPage:
        """Return the newest runs that fit."""
        names = await self._refresh()
        complete = len(names) >= await self._store.count_ended()
        kept = (self._kept[run] for run in names if run in self._kept)
        return digests.scan(kept, query, limit, before, complete=complete)

    async def _refresh(self) -> list[RunId]:
        """Read the digests that are not here yet; return the runs that have one, the newest first."""
        numbers = await self._store.numbers(self._most)
        await self._forget_replaced()
        self._kept = {run: kept for run, kept in self._kept.items() if run in numbers}
        added = [run for run in numbers if run not in self._kept]
        for start in range(0, len(added), _AT_A_TIME):
            for summary, stored in await self._store.get(added[start : start + _AT_A_TIME]):
                if stored:
                    self._keep(numbers[summary.run], summary, stored)
            await asyncio.sleep(0)
        return list(numbers)

    async def _forget_replaced(self) -> None:
        # Before the digests are read: one that is replaced meanwhile is then read once more.
        now = await self._store.revisions()
        for run, revision in now.items():
            if self._revisions.get(run) != revision:
                self._kept.pop(run, None)
        self._revisions = now

    def _keep(self, number: int, summary: RunSummary, stored: bytes) -> None:
        try:
            digest = digests.decode_digest(stored)
        except MsgspecError:  # Of another version; it is made again.
            return
        self._kept[summary.run] = digests.keep(number, summary, digest)
