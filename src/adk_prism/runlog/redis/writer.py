"""What writes a run log to Redis: changes gather, and go out together in one pipeline.

One group is on its way at a time; what comes meanwhile is the next one, so groups grow with the load.
Entries of one run are one call of the script, which takes all or none of them. A connection that fails is
tried again for a while: each batch has a name, so that one whose answer was lost is not added twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from redis import exceptions
from redis.asyncio import Redis

from adk_prism.runlog.entry import Entry, RunEnded
from adk_prism.runlog.notifier import Notifier
from adk_prism.runlog.redis.client import STORE_ERRORS
from adk_prism.runlog.redis.encoding import RedisRun, first_fields
from adk_prism.runlog.redis.keys import Keys
from adk_prism.runlog.redis.scripts import Script
from adk_prism.runlog.run_state import Packed

MAX_PENDING_BYTES = 16 * 1024 * 1024
"""What may wait to be written before an append waits too."""

PAUSE = 0.02
"""Seconds between two groups, unless somebody waits for a commit: fifty pictures of a growing text a
second. Each group costs a round trip and wakes every follower."""

PATIENCE = 30.0
"""Seconds for which a Redis that does not answer is tried again: longer than a restart or a failover."""

LAST_PATIENCE = 5.0
"""The same while the log closes: a process that should end does not wait for a failover."""

RETRY = (0.05, 1.0)
"""Seconds between attempts: the first, and the longest."""

PASSING = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
    exceptions.ClusterDownError,
    exceptions.MasterDownError,
    exceptions.SlotNotCoveredError,
    exceptions.NoScriptError,
    OSError,
)
"""Errors that pass: a restart, a failover, a script that is not loaded yet."""


class AppendBatch(Struct, frozen=True, gc=False, eq=False):
    """Entries to be added to a run. There is at least one."""

    run: RedisRun
    entries: Sequence[Entry]
    packed: Sequence[Packed]
    bytes: int
    """Size of the run, these entries included."""
    weight: int
    epoch: int
    now: float


class AppendResult(Struct, frozen=True):
    """What became of a batch: *ok*, what the script says else, or *failed* with a reason."""

    answer: str
    detail: str = ""


Settled = Callable[[RedisRun, Sequence[AppendBatch], AppendResult], None]


class RedisWriter:
    """Owns the task that writes. `settled` is told what became of each run's batches."""

    def __init__(self, redis: Redis, keys: Keys, script: Script, settled: Settled) -> None:
        self._redis = redis
        self._keys = keys
        self._script = script
        self._settled = settled
        self._pending: dict[RedisRun, list[AppendBatch]] = {}
        self._weight = 0
        self._wanted = asyncio.Event()
        """There is something to write."""
        self._hurried = asyncio.Event()
        """Somebody waits for it."""
        self._changed = Notifier()
        self._stopping = False
        self._task = asyncio.create_task(self._run(), name="adk-prism run log")

    @property
    def is_full(self) -> bool:
        """More is waiting than should be: wait for `room` before putting."""
        return self._weight > MAX_PENDING_BYTES

    @property
    def dead(self) -> bool:
        """The task is over."""
        return self._task.done()

    def put(self, batch: AppendBatch) -> None:
        """Take a change."""
        self._pending.setdefault(batch.run, []).append(batch)
        self._weight += batch.weight
        self._wanted.set()

    def hurry(self) -> None:
        """Cut a pause short: somebody waits for what is pending."""
        self._hurried.set()

    def discard(self, run: RedisRun) -> None:
        """Forget what is waiting of a run that takes no more."""
        self._weight -= sum(batch.weight for batch in self._pending.pop(run, ()))

    async def room(self) -> None:
        """Wait while too much is waiting."""
        while self.is_full and not self.dead:
            self.hurry()
            await self._changed.wait()

    async def stop(self) -> None:
        """Write all that is pending, then end."""
        self._stopping = True
        self._wanted.set()
        self.hurry()
        await self._task

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._pending:
                await self._write(self._take())
                self._changed.notify()
            elif self._stopping:
                return
            await self._pause()

    async def _pause(self) -> None:
        if self._stopping:
            self._wanted.set()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE):
                await self._hurried.wait()
        self._hurried.clear()

    def _take(self) -> dict[RedisRun, list[AppendBatch]]:
        group, self._pending = self._pending, {}
        return group

    # ----------------------------------------------------------------------- one group

    async def _write(self, group: dict[RedisRun, list[AppendBatch]]) -> None:
        ids = {run: uuid.uuid4().hex for run in group}
        results = await self._insist(group, ids)
        ended = [
            run
            for run, batches in group.items()
            if results[run].answer == "ok" and isinstance(_last(batches).record, RunEnded)
        ]
        if ended:
            await self._note_ends(ended)
        for run, batches in group.items():
            self._weight -= sum(batch.weight for batch in batches)
            self._settled(run, batches, results[run])

    async def _insist(
        self, group: dict[RedisRun, list[AppendBatch]], ids: dict[RedisRun, str]
    ) -> dict[RedisRun, AppendResult]:
        """Send until there is an answer for every run, or patience ends."""
        results: dict[RedisRun, AppendResult] = {}
        began, wait = time.monotonic(), RETRY[0]
        while True:
            open_runs = [run for run in group if run not in results]
            reason = ""
            try:
                answers = await self._send(group, ids, open_runs)
            except PASSING as error:
                answers, reason = [error] * len(open_runs), describe(error)
            for run, answer in zip(open_runs, answers, strict=True):
                if _passes(answer):
                    reason = describe(answer)
                else:
                    results[run] = _result(answer)
            if len(results) == len(group):
                return results
            if time.monotonic() - began > (LAST_PATIENCE if self._stopping else PATIENCE):
                failed = AppendResult("failed", reason)
                return results | {run: failed for run in group if run not in results}
            await asyncio.sleep(wait)
            wait = min(2 * wait, RETRY[1])
            await self._prepare()

    async def _prepare(self) -> None:
        with suppress(*PASSING):  # The next attempt says so too.
            await self._script.ready(self._redis)

    async def _send(
        self,
        group: dict[RedisRun, list[AppendBatch]],
        ids: dict[RedisRun, str],
        runs: Sequence[RedisRun],
    ) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run in runs:
                keys = self._keys.run(run.run)
                self._script.queue(pipeline, keys, self._arguments(group[run], ids[run]))
            return list(await pipeline.execute(raise_on_error=False))

    def _arguments(self, batches: Sequence[AppendBatch], batch_id: str) -> list[Any]:
        first, last = batches[0], batches[-1]
        run = first.run
        fields: dict[str, Any] = {"bytes": last.bytes}
        if first.entries[0].cursor == 1:
            fields |= first_fields(run)
        record = _last(batches).record
        if isinstance(record, RunEnded):
            fields |= {"outcome": record.outcome, "ended": repr(last.now)}
        arguments: list[Any] = [
            last.epoch,
            first.entries[0].cursor,
            batch_id,
            self._keys.channel(run.run),
            len(fields),
        ]
        for pair in fields.items():
            arguments += pair
        for batch in batches:
            for entry, (kind, payload) in zip(batch.entries, batch.packed, strict=True):
                arguments += (kind, repr(entry.time), payload)
        return arguments

    async def _note_ends(self, runs: Sequence[RedisRun]) -> None:
        """Take runs out of the index of those that go on; where that fails, `trim` does it later."""
        with suppress(*STORE_ERRORS):
            await self._redis.zrem(self._keys.unended, *(run.run for run in runs))


def _last(batches: Sequence[AppendBatch]) -> Entry:
    return batches[-1].entries[-1]


def _result(answer: Any) -> AppendResult:
    if isinstance(answer, Exception):
        return AppendResult("failed", describe(answer))
    return AppendResult(*(word.decode() for word in answer))


def _passes(answer: Any) -> bool:
    return isinstance(answer, PASSING) or (
        isinstance(answer, exceptions.ResponseError) and "-READONLY" in str(answer)
    )


def describe(error: Exception) -> str:
    """Say what a Redis error means. Its own text may name hosts and keys."""
    for word, kind in _INSIDE.items():
        if word in str(error):
            return _WORDS[kind]
    for kind, words in _WORDS.items():
        if isinstance(error, kind):
            return words
    return "Redis refused it"


_WORDS: dict[type[Exception], str] = {
    exceptions.AuthenticationError: "Redis does not accept the name or the password",
    exceptions.NoPermissionError: "Redis does not allow it to this user",
    exceptions.OutOfMemoryError: "Redis is full",
    exceptions.ReadOnlyError: "Redis is read-only",
    exceptions.BusyLoadingError: "Redis is still loading its data",
    exceptions.TimeoutError: "Redis does not answer in time",
    exceptions.ConnectionError: "there is no connection to Redis",
    exceptions.ClusterDownError: "the cluster of Redis is down",
    exceptions.SlotNotCoveredError: "the cluster of Redis is not whole",
    exceptions.RedisClusterException: "this Redis is no cluster, or no node of it answers",
    OSError: "there is no connection to Redis",
}
"""The first that fits; an AuthenticationError is a ConnectionError too."""

_INSIDE: dict[str, type[Exception]] = {
    "-OOM": exceptions.OutOfMemoryError,
    "-READONLY": exceptions.ReadOnlyError,
}
"""What a script met: its error is a general one, with that text in it."""
