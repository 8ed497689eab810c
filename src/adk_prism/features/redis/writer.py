"""Writes a run log to Redis: a group of batches is one pipeline.

The entries of one run are one call of the script, which takes all or none of them. A Redis that is away,
full or read-only is tried again: each call has an id, so that one whose answer was lost is not added twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar, cast

import msgspec
from redis import exceptions
from redis.asyncio import Redis

from adk_prism.errors import LogError, PrismError
from adk_prism.features.redis.connection import STORE_ERRORS, Keys, Script
from adk_prism.log import group_commit
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import Entry, Origin, Outcome, RunEnded, RunId, unpack
from adk_prism.log.group_commit import AppendBatch, AppendResult, Group, StoredRun
from adk_prism.log.private_files import Notifier, cancel_task
from adk_prism.log.run_state import BufferedRun, Packed, RunState, trimmed

MOMENT = 1.0
"""Seconds for which any question is asked again: after a restart, each pooled connection turns out to be
closed when it is used."""

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

    async def write(self, group: Group) -> Sequence[AppendResult]:
        """Try to store a group; return what became of each batch."""
        runs: dict[BufferedRun, list[AppendBatch]] = {}
        for batch in group:
            runs.setdefault(batch.run, []).append(batch)
        try:
            answers = await self._send(runs)
        except PASSING as error:
            answers = [error] * len(runs)
        results = dict(zip(runs, map(_result, answers), strict=True))
        if any(result.answer in group_commit.AGAIN for result in results.values()):
            with suppress(*PASSING):  # A Redis that was restarted has forgotten the script.
                await self._script.ready(self._redis)
        ended = [
            run.run
            for run, batches in runs.items()
            if results[run].answer == "ok" and isinstance(_last(batches).record, RunEnded)
        ]
        if ended:
            with suppress(*STORE_ERRORS):  # `ownerless` repairs it.
                await self._redis.zrem(self._keys.unended, *ended)
        return [results[batch.run] for batch in group]

    async def _send(self, runs: dict[BufferedRun, list[AppendBatch]]) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run, batches in runs.items():
                self._script.queue(pipeline, self._keys.run(run.run), self._arguments(batches))
            return list(await pipeline.execute(raise_on_error=False))

    def _arguments(self, batches: Sequence[AppendBatch]) -> list[Any]:
        first, last = batches[0], batches[-1]
        first.id = first.id or uuid.uuid4().hex
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
            first.id,
            self._keys.channel(run.run),
            len(fields),
        ]
        for pair in fields.items():
            arguments += pair
        for batch in batches:
            for entry, (kind, payload) in zip(batch.entries, batch.packed, strict=True):
                arguments += (kind, repr(entry.time), payload)
        return arguments


def _last(batches: Sequence[AppendBatch]) -> Entry:
    return batches[-1].entries[-1]


def _result(answer: Any) -> AppendResult:
    if not isinstance(answer, Exception):
        return AppendResult(*(word.decode() for word in answer))
    if not _passes(answer):
        return AppendResult("failed", describe(answer))
    # A Redis that has refused it does not have it; one that did not answer may.
    is_refused = isinstance(answer, exceptions.ResponseError)
    return AppendResult(
        group_commit.UNAVAILABLE if is_refused else group_commit.UNANSWERED, describe(answer)
    )


def _passes(answer: Any) -> bool:
    return isinstance(answer, PASSING) or (
        isinstance(answer, exceptions.ResponseError)
        and any(word in str(answer) for word in _PASSING_WORDS)
    )


async def insist(
    ask: Callable[[], Awaitable[_Answer]],
    seconds: float = MOMENT,
    is_over: Callable[[], bool] = lambda: False,
) -> _Answer:
    """Ask something that may be asked twice, again for some time. Raise what Redis raises."""
    until, wait = time.monotonic() + seconds, group_commit.RETRY[0]
    while True:
        try:
            return await ask()
        except PASSING:
            if time.monotonic() + wait > until or is_over():
                raise
        await asyncio.sleep(wait)
        wait = min(2 * wait, group_commit.RETRY[1])


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


# --------------------------------------------------------------------------- encoding

# How runs and entries are stored in Redis: hash fields and bytes in, summaries and entries out.

Fields = Mapping[bytes, bytes]


class _Fixed(msgspec.Struct, frozen=True):
    """The part of a run that never changes."""

    origin: Origin
    invocation: str
    message: str
    started: float


_encode = msgspec.json.Encoder().encode
_decode_fixed = msgspec.json.Decoder(_Fixed).decode


def first_fields(state: RunState) -> dict[str, Any]:
    """Return the hash fields of a run that starts."""
    summary = state.summary()
    fixed = _Fixed(summary.origin, summary.invocation, summary.message, state.started)
    return {"fixed": _encode(fixed), "number": state.number, "outcome": "", "ended": ""}


def read_run(run: RunId, fields: Fields) -> StoredRun:
    """Return a run. Raise `LogError` for fields that cannot be read."""
    try:
        fixed = _decode_fixed(fields[b"fixed"])
        number = int(fields[b"number"])
        summary = RunSummary(
            run=run,
            origin=fixed.origin,
            invocation=fixed.invocation,
            started=fixed.started,
            ended=float(fields[b"ended"]) if fields[b"ended"] else None,
            outcome=cast(Outcome, fields[b"outcome"].decode()) if fields[b"outcome"] else None,
            cursor=int(fields[b"cursor"]),
            bytes=int(fields[b"bytes"]),
            message=fixed.message,
            epoch=int(fields[b"epoch"]),
        )
        return StoredRun(number, summary)
    except (KeyError, ValueError) as error:
        raise LogError(
            f"Run {run[:60]!r} is stored in a form that this version cannot read."
        ) from error


Row = tuple[bytes, dict[bytes, bytes]]
"""An entry of a stream: id and fields."""


def read_rows(rows: Sequence[Row]) -> tuple[list[Entry], list[Packed]]:
    """Return entries and their stored forms. Raise `SourceError` for a record of a newer version."""
    entries, packed = [], []
    for name, fields in rows:
        kind, payload = fields[b"k"].decode(), fields[b"d"]
        cursor = int(name.partition(b"-")[0])
        entries.append(Entry(cursor, float(fields[b"t"]), unpack(kind, payload)))
        packed.append((kind, payload))
    return entries, packed


# ---------------------------------------------------------------------------
# Follows runs that another process writes: one task for each run, however many readers follow it.
#
# Redis publishes a message when a run has grown (one connection of a process receives them for all
# its runs); the task then reads what is new and gives it to all readers through the run's recent
# entries. A message can be lost with a connection, so the tasks also look from time to time.

LOOK = 1.0
"""Seconds after which a run is read without a message."""

_RETRY = 0.2
"""Seconds until a lost connection is opened again."""

_LOST = (*STORE_ERRORS, RuntimeError)
"""Errors of a lost pub/sub connection. Subscribing at the moment in which it is lost would read from it too:
asyncio refuses a second reader with a RuntimeError."""


class RunSubscription(msgspec.Struct, eq=False):
    """A run that another process writes, and its followers here."""

    live: BufferedRun
    followers: int = 0
    signal: Notifier = msgspec.field(default_factory=Notifier)
    """Notified when there may be something new."""
    error: PrismError | None = None
    """Why the task stopped."""
    task: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise what keeps the run from continuing."""
        if self.error is not None:
            raise self.error
        if self.live.removed:
            raise trimmed(self.live.run)


Advance = Callable[[BufferedRun], Awaitable[bool]]
"""Reads what is new of a run; returns whether more may come."""


class RunSubscriptions:
    """The followed runs of a process."""

    def __init__(self, redis: Redis, keys: Keys, advance: Advance) -> None:
        self._keys = keys
        self._advance = advance
        self._watched: dict[RunId, RunSubscription] = {}
        self._tailers: set[asyncio.Task[None]] = set()
        """Also those without followers that still unsubscribe."""
        self._channels = redis.pubsub(ignore_subscribe_messages=True)
        self._is_connected = False
        """Whether there is a connection. While there is none, only the listener opens one."""
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect and begin to listen."""
        await self._channels.subscribe(self._keys.silence)
        self._is_connected = True
        self._listener = asyncio.create_task(self._listen(), name="adk-prism run messages")

    async def close(self) -> None:
        """Stop everything, and wake all followers."""
        tasks = [*self._tailers, *([self._listener] if self._listener is not None else [])]
        await asyncio.gather(*map(cancel_task, tasks))
        with suppress(*_LOST):
            await self._channels.aclose()  # type: ignore[no-untyped-call]
        for watched in self._watched.values():
            watched.live.changed.notify()

    @asynccontextmanager
    async def follow(self, live: BufferedRun) -> AsyncIterator[RunSubscription]:
        """Keep a run up to date while the block runs; `live` is its state now."""
        watched = self._watched.get(live.run)
        if watched is None:
            watched = self._watched[live.run] = RunSubscription(live)
            watched.task = asyncio.create_task(self._tail(watched), name=f"tail {live.run[:40]}")
            self._tailers.add(watched.task)
            watched.task.add_done_callback(self._tailers.discard)
        watched.followers += 1  # The task begins in the next turn of the loop.
        try:
            yield watched
        finally:
            watched.followers -= 1
            if not watched.followers and self._watched.get(live.run) is watched:
                del self._watched[live.run]
                if watched.task is not None:
                    watched.task.cancel()

    async def _tail(self, watched: RunSubscription) -> None:
        """Read until the run is over, or has no followers."""
        live, channel = watched.live, self._keys.channel(watched.live.run)
        try:
            await self._send(self._channels.subscribe, channel)
            while watched.followers and await self._go_on(watched):
                live.changed.notify()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        await watched.signal.wait()
        except PrismError as error:
            watched.error = error
        finally:
            live.changed.notify()
            with suppress(asyncio.CancelledError):
                await self._send(self._channels.unsubscribe, channel)

    async def _send(self, send: Callable[[str], Awaitable[None]], channel: str) -> None:
        if self._is_connected:
            with suppress(*_LOST):
                await send(channel)

    async def _go_on(self, watched: RunSubscription) -> bool:
        try:
            return await self._advance(watched.live)
        except STORE_ERRORS:
            return True  # Redis is down: try again at the next look.

    async def _listen(self) -> None:
        prefix = self._keys.channel(RunId(""))
        while True:
            try:
                if not self._is_connected:
                    await self._subscribe_anew()
                message = await self._channels.get_message(timeout=None)
            except _LOST:
                self._is_connected = False
                await asyncio.sleep(_RETRY)
                self._signal_all()
                continue
            if message is not None:
                watched = self._watched.get(RunId(message["channel"].decode().removeprefix(prefix)))
                if watched is not None:
                    watched.signal.notify()

    async def _subscribe_anew(self) -> None:
        """Subscribe again to all runs that are followed now, and to nothing else."""
        wanted = {self._keys.silence, *map(self._keys.channel, self._watched)}
        await self._channels.subscribe(*wanted)
        known = {name.decode() for name in self._channels.channels}
        if known - wanted:
            await self._channels.unsubscribe(*known - wanted)
        self._is_connected = True

    def _signal_all(self) -> None:
        for watched in self._watched.values():
            watched.signal.notify()
