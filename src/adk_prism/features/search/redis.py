"""Digests in Redis: those of the newest runs, which every process keeps a copy of.

Redis alone has no full-text index, so a search looks at every digest, and their number is bounded. Each is
read once by a process, and again when its revision says that it was replaced; the index of digests says which
still count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import MsgspecError

from adk_prism.features.search import digest as digests
from adk_prism.log.entry import RunId
from adk_prism.log.redis.connection import Script
from adk_prism.log.redis.store import RedisLog
from adk_prism.log.redis.writer import log_errors, read_run

MOST_DIGESTS = 2000
"""The newest runs that can be found: some 10 MB in Redis, and twice that in every process that searches."""

_AT_A_TIME = 200
"""Digests fetched in one round trip: about a megabyte."""


INDEX = """
-- KEYS head, entries, tombstone, digest; ARGV digest
local was = redis.call('HMGET', KEYS[1], 'outcome', 'number')
if not was[1] or was[1] == '' then return 0 end
redis.call('SET', KEYS[4], ARGV[1])
return was[2]
"""
"""Stores the digest of a run that has ended and is still there; returns the run's number."""


class RedisSearch:
    """Is a `SearchIndex`."""

    def __init__(self, log: RedisLog, most: int = MOST_DIGESTS) -> None:
        self._log = log
        self._redis = log.store.redis
        self._keys = log.store.keys
        self._most = most
        self._store = Script(INDEX)
        self._kept: dict[RunId, digests.KeptDigest] = {}
        """Copies of those that were searched."""
        self._revisions: dict[bytes, bytes] = {}
        """Of the copies."""

    async def index(self, run: RunId, digest: digests.RunDigest) -> None:
        """Store a digest; the oldest ones beyond the limit go."""
        self._log.usable()
        keys, index = self._keys, self._keys.digests
        with log_errors("A run could not be indexed"):
            number = await self._store.call(
                self._redis, keys.run(run), [digests.encode_digest(digest)]
            )
            if not number:
                return
            is_new = await self._redis.zadd(index, {run: int(number)})
            if not is_new:
                await self._redis.hincrby(keys.revisions, run, 1)
            surplus: Any = await self._redis.zrange(index, 0, -self._most - 1)
            for each in surplus:
                await self._redis.delete(keys.run(RunId(each.decode())).digest)
            if surplus:
                await self._redis.zrem(index, *surplus)
                await self._redis.hdel(keys.revisions, *surplus)

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        """Return runs among the newest that have ended and have no digest of this version."""
        self._log.usable()
        with log_errors("The run log cannot be read"):
            newest = [run for run, _ in await self._newest(self._keys.runs)]
            unended = {run for run, _ in await self._newest(self._keys.unended)}
            await self._refresh()
            wanted = [
                run
                for run in newest
                if run not in unended
                and (
                    run not in self._kept or self._kept[run].digest.version < digests.DIGEST_VERSION
                )
            ]
            # The index of runs may name one that is gone.
            found = await self._fetch(wanted)
        return [run for run, fields, _ in found if fields.get(b"outcome")][:limit]

    async def search(
        self, query: digests.RunQuery, *, limit: int, before: int | None = None
    ) -> digests.SearchPage:
        """Return the first runs that fit, in the order of the query."""
        self._log.usable()
        with log_errors("The run log cannot be read"):
            names = await self._refresh()
            runs = int(await self._redis.zcard(self._keys.runs))
            unended = int(await self._redis.zcard(self._keys.unended))
        kept = (self._kept[run] for run in names if run in self._kept)
        return digests.scan(kept, query, limit, before, complete=len(names) >= runs - unended)

    async def digests_of(self, runs: Sequence[RunId]) -> dict[RunId, digests.RunDigest]:
        """Return the digests of some runs, as far as the last search saw them."""
        return {run: self._kept[run].digest for run in runs if run in self._kept}

    async def _newest(self, index: str) -> list[tuple[RunId, int]]:
        rows: Any = await self._redis.zrange(index, 0, self._most - 1, desc=True, withscores=True)
        return [(RunId(name.decode()), int(number)) for name, number in rows]

    async def _refresh(self) -> list[RunId]:
        """Read the digests that are not here yet; return the runs that have one, the newest first."""
        numbers = dict(await self._newest(self._keys.digests))
        await self._forget_replaced()
        self._kept = {run: kept for run, kept in self._kept.items() if run in numbers}
        added = [run for run in numbers if run not in self._kept]
        for start in range(0, len(added), _AT_A_TIME):
            some = added[start : start + _AT_A_TIME]
            for run, fields, stored in await self._fetch(some):
                if fields and stored:
                    self._keep(run, numbers[run], fields, stored)
            await asyncio.sleep(0)
        return list(numbers)

    async def _forget_replaced(self) -> None:
        # Before the digests are read: one that is replaced meanwhile is then read once more.
        now: Any = await self._redis.hgetall(self._keys.revisions)
        for run, revision in now.items():
            if self._revisions.get(run) != revision:
                self._kept.pop(RunId(run.decode()), None)
        self._revisions = now

    def _keep(self, run: RunId, number: int, fields: Any, stored: bytes) -> None:
        try:
            digest = digests.decode_digest(stored)
        except MsgspecError:  # Of another version; it is made again.
            return
        summary = read_run(run, fields).summary
        self._kept[run] = digests.keep(number, summary, digest)

    async def _fetch(self, runs: Sequence[RunId]) -> list[tuple[RunId, Any, Any]]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run in runs:
                pipeline.hgetall(self._keys.run(run).head)
                pipeline.get(self._keys.run(run).digest)
            answers = list(await pipeline.execute())
        return list(zip(runs, answers[::2], answers[1::2], strict=True))
