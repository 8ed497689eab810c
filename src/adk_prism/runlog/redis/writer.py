"""Writes a run log to Redis: a group of batches is one pipeline.

The entries of one run are one call of the script, which takes all or none of them. A Redis that is away,
full or read-only is tried again until the log closes: each call has an id, so that one whose answer was lost
is not added twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from redis import exceptions
from redis.asyncio import Redis

from adk_prism.errors import LogError
from adk_prism.runlog.entry import Entry, RunEnded
from adk_prism.runlog.log_store import AppendBatch, AppendResult, Group
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.redis.client import STORE_ERRORS
from adk_prism.runlog.redis.encoding import first_fields
from adk_prism.runlog.redis.keys import Keys
from adk_prism.runlog.redis.scripts import Script

LAST_PATIENCE = 5.0
"""Seconds for which a Redis that cannot be written is tried while the log closes: a process that should end
does not wait for a failover."""

MOMENT = 1.0
"""Seconds for which any question is asked again: after a restart, each pooled connection turns out to be
closed when it is used."""

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
    exceptions.OutOfMemoryError,
    exceptions.NoPermissionError,
    OSError,
)
"""Errors that pass: a restart, a failover, a script that is not loaded yet, a full memory."""

_PASSING_WORDS = ("-READONLY", "-OOM", "MISCONF", "NOREPLICAS", "-LOADING", "-MASTERDOWN")
"""The same inside a script, and those that redis-py has no class for: a Redis that cannot save to its disk,
or misses its replicas."""


_Answer = TypeVar("_Answer")


class RedisWriter:
    """Sends groups of batches."""

    def __init__(self, redis: Redis, keys: Keys, script: Script) -> None:
        self._redis = redis
        self._keys = keys
        self._script = script
        self._closing_since: float | None = None
        """When the log began to close, by the monotonic clock."""

    def closing(self) -> None:
        """Give up soon from now on: the log closes."""
        self._closing_since = time.monotonic()

    async def write(self, group: Group) -> Sequence[AppendResult]:
        """Store a group; return what became of each batch."""
        runs: dict[BufferedRun, list[AppendBatch]] = {}
        for batch in group:
            runs.setdefault(batch.run, []).append(batch)
        results = await self._insist(runs, {run: uuid.uuid4().hex for run in runs})
        ended = [
            run
            for run, batches in runs.items()
            if results[run].answer == "ok" and isinstance(_last(batches).record, RunEnded)
        ]
        if ended:
            await self._note_ends(ended)
        return [results[batch.run] for batch in group]

    async def _insist(
        self, group: dict[BufferedRun, list[AppendBatch]], ids: dict[BufferedRun, str]
    ) -> dict[BufferedRun, AppendResult]:
        """Send until every run has an answer, or the log closes."""
        results: dict[BufferedRun, AppendResult] = {}
        wait = RETRY[0]
        while True:
            open_runs = [run for run in group if run not in results]
            reason = ""
            try:
                answers = await self._send(group, ids, open_runs)
            except PASSING as error:
                answers, reason = [error] * len(open_runs), describe(error)
            for run, answer in zip(open_runs, answers, strict=True):
                if not _passes(answer):
                    results[run] = _result(answer)
                    continue
                reason = describe(answer)
                # A Redis that has refused it does not have it; one that did not answer may.
                if (run.is_left or run.removed) and isinstance(answer, exceptions.ResponseError):
                    results[run] = AppendResult("failed", reason)
            if len(results) == len(group):
                return results
            since = self._closing_since
            if since is not None and time.monotonic() - since > LAST_PATIENCE:
                failed = AppendResult("failed", reason)
                return results | {run: failed for run in group if run not in results}
            await asyncio.sleep(wait)
            wait = min(2 * wait, RETRY[1])
            await self._prepare()

    async def _prepare(self) -> None:
        with suppress(*PASSING):  # The next attempt fails too.
            await self._script.ready(self._redis)

    async def _send(
        self,
        group: dict[BufferedRun, list[AppendBatch]],
        ids: dict[BufferedRun, str],
        runs: Sequence[BufferedRun],
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

    async def _note_ends(self, runs: Sequence[BufferedRun]) -> None:
        """Take runs out of the index of unended runs; a failure is repaired by `ownerless`."""
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
        isinstance(answer, exceptions.ResponseError)
        and any(word in str(answer) for word in _PASSING_WORDS)
    )


async def insist(ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Ask something that may be asked twice, again for a moment. Raise what Redis raises."""
    until, wait = time.monotonic() + MOMENT, RETRY[0]
    while True:
        try:
            return await ask()
        except PASSING:
            if time.monotonic() + wait > until:
                raise
        await asyncio.sleep(wait)
        wait *= 2


@contextmanager
def log_errors(problem: str) -> Iterator[None]:
    """Raise `LogError`, which says what the problem is and why, for an error of Redis."""
    try:
        yield
    except STORE_ERRORS as error:
        raise LogError(f"{problem}: {describe(error)}.") from error


def describe(error: Exception) -> str:
    """Return what a Redis error means. Its own text may name hosts and keys."""
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
    exceptions.ClusterDownError: "the Redis cluster is down",
    exceptions.SlotNotCoveredError: "the Redis cluster is incomplete",
    exceptions.RedisClusterException: "this Redis is not a cluster, or no node of it answers",
    OSError: "there is no connection to Redis",
}
"""The first that fits; an AuthenticationError is a ConnectionError too."""

_INSIDE: dict[str, type[Exception]] = {
    "-OOM": exceptions.OutOfMemoryError,
    "-READONLY": exceptions.ReadOnlyError,
}
"""Errors inside a script: Redis returns a general error with this text in it."""
