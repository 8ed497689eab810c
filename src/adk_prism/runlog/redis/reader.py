"""Reads a run log in Redis: runs, entries, and what other processes have added meanwhile.

A query fails after a moment while Redis is down, with one exception: a follower of a run waits, as the run's
writer does. A restart or a failover is then a pause in the stream, not its end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from redis.asyncio import Redis

from adk_prism.errors import LogError
from adk_prism.runlog.entry import Entry, RunId
from adk_prism.runlog.group_commit import PATIENCE
from adk_prism.runlog.log_store import StoredRun
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.redis.client import STORE_ERRORS
from adk_prism.runlog.redis.encoding import read_rows, read_run
from adk_prism.runlog.redis.keys import Keys
from adk_prism.runlog.redis.writer import MOMENT, PASSING, RETRY, describe
from adk_prism.runlog.run_state import READ_BATCH, trimmed, unknown

_AT_A_TIME = 500
"""Runs fetched in one round trip."""

_Answer = TypeVar("_Answer")


class RedisReader:
    """Reads runs, whichever process writes them."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self.is_closing = False
        """The log closes: nothing is tried again."""

    async def find(self, run: RunId, *, patient: bool = False) -> StoredRun:
        """Return a run; raise `NotFound`, `Gone` or `LogError`."""
        keys = self._keys.run(run)

        async def ask() -> list[Any]:
            async with self._redis.pipeline(transaction=False) as pipeline:
                pipeline.hgetall(keys.head)
                pipeline.exists(keys.tombstone)
                return list(await pipeline.execute())

        fields, gone = await self._ask(ask, patient)
        if not fields:
            raise trimmed(run) if gone else unknown(run)
        return read_run(run, fields)

    async def entries(
        self, run: RunId, after: int, last: int, *, patient: bool = False
    ) -> Sequence[Entry]:
        """Return some entries of a run that has them; raise `Gone` if it has not, `LogError`."""
        name = self._keys.run(run).entries
        rows: Any = await self._ask(
            lambda: self._redis.xrange(name, f"{after + 1}-0", f"{last}-9", READ_BATCH), patient
        )
        entries, _ = read_rows(rows)
        if not entries or entries[0].cursor != after + 1:
            raise trimmed(run)
        return entries

    async def select(self, index: str) -> list[StoredRun]:
        """Return the stored runs that an index names."""
        found: list[StoredRun] = []
        members: Any = await self._ask(lambda: self._redis.zrange(index, 0, -1))
        names = [RunId(name.decode()) for name in members]
        for start in range(0, len(names), _AT_A_TIME):
            some = names[start : start + _AT_A_TIME]
            heads = await self._ask(partial(self._heads, some))
            found += [read_run(*each) for each in zip(some, heads, strict=True) if each[1]]
        return found

    async def _heads(self, names: Sequence[RunId]) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.hgetall(self._keys.run(name).head)
            return list(await pipeline.execute())

    async def advance(self, live: BufferedRun) -> bool:
        """Read what another process has added to a run; return whether more may come.

        Raise redis-py's own errors: the follower tries again.
        """
        keys = self._keys.run(live.run)
        while True:
            rows: Any = await self._redis.xrange(
                keys.entries, f"{live.committed + 1}-0", "+", READ_BATCH
            )
            if not rows:
                break
            entries, packed = read_rows(rows)
            if entries[0].cursor != live.committed + 1:
                raise trimmed(live.run)
            live.taken_at = entries[-1].time
            live.commit(entries[-1], live.bytes + sum(len(payload) for _, payload in packed))
            live.recent.add(entries, packed)
            live.changed.notify()
        if live.outcome is None and not await self._redis.exists(keys.head):
            live.removed = True
        return live.outcome is None and not live.removed

    async def _ask(self, ask: Callable[[], Awaitable[_Answer]], patient: bool = False) -> _Answer:
        until, wait = time.monotonic() + (PATIENCE if patient else MOMENT), RETRY[0]
        while True:
            try:
                return await ask()
            except STORE_ERRORS as error:
                passes = isinstance(error, PASSING) and not self.is_closing
                if not passes or time.monotonic() + wait > until:
                    raise LogError(f"The run log cannot be read: {describe(error)}.") from error
            await asyncio.sleep(wait)
            wait = min(2 * wait, RETRY[1])
