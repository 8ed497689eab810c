"""A run log in Redis Streams: for any number of processes, on Redis 6.2 or newer, or Valkey.

Every process can write, read and follow every run. A run is written by one owner at a time: each append
is checked, in Redis, against the run's epoch and its last cursor, so that an owner who was replaced can
add nothing. The owner's followers are served from memory, those of other processes by one tailer a run
(`subscriptions.py`). A reader is never given what is not committed.

What a commit promises is what Redis promises: with `appendonly yes` it survives a kill of Redis, but for
the last moments that `appendfsync everysec` allows.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any

from msgspec import Struct

from adk_prism.errors import Gone, LogError, NotFound
from adk_prism.runlog.contract import Census, Receipt, Retention, RunSummary
from adk_prism.runlog.entry import Entry, Origin, Record, RunId
from adk_prism.runlog.hooks import HookedLog
from adk_prism.runlog.recent_entries import TAIL_BYTES, BufferedRun
from adk_prism.runlog.redis.client import STORE_ERRORS, asking, is_cluster, listening
from adk_prism.runlog.redis.encoding import RedisRun
from adk_prism.runlog.redis.keys import DEFAULT_PREFIX, Keys
from adk_prism.runlog.redis.reader import RedisReader
from adk_prism.runlog.redis.scripts import APPEND, REMOVE, Script
from adk_prism.runlog.redis.subscriptions import RunSubscriptions
from adk_prism.runlog.redis.writer import AppendBatch, AppendResult, RedisWriter, describe
from adk_prism.runlog.retention import EndedRun, runs_to_trim
from adk_prism.runlog.run_state import (
    already_trimmed,
    failed,
    fenced,
    first_of,
    is_from,
    not_open,
    summary_of,
    trimmed,
)

SCHEMA = 1
NO_EVICTION = "noeviction"
OLDEST = (6, 2)
"""Redis before this cannot be given cursors as ids the way we do."""

TOMBSTONE_SECONDS = 30 * 24 * 3600
"""For a month it is remembered that a run was removed; later there never was such a run."""


class _Parts(Struct):
    """What an open log holds."""

    writer: RedisWriter
    watch: RunSubscriptions
    closing: bool = False


class RedisLog(HookedLog):
    """Keeps runs in Redis. The runs that this process writes are in memory too, until they end."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        tail_bytes: int = TAIL_BYTES,
        clock: Callable[[], float] = time.time,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` is told of a Redis that can be used, but should be set up in another way."""
        self._warn = warn
        self._is_cluster = is_cluster(url)
        self._redis, self._ear = asking(url), listening(url)
        self._keys = Keys(prefix)
        self._tail_bytes = tail_bytes
        self._clock = clock
        self._reader = RedisReader(self._redis, self._keys, tail_bytes, lambda: self._is_open)
        self._append, self._removal = Script(APPEND), Script(REMOVE)
        self._parts: _Parts | None = None
        """None while the log is closed."""
        self._owned: dict[RunId, RedisRun] = {}
        """Runs that this process writes."""

    # ----------------------------------------------------------------------- opening and closing

    async def open(self) -> None:
        if self._parts is not None:
            raise LogError("The run log is open already.")
        watch = RunSubscriptions(self._ear, self._keys, self._reader.advance)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self._disconnect)
            try:
                await self._check_server()
                await self._append.ready(self._redis)
                await self._removal.ready(self._redis)
                await watch.open()
            except STORE_ERRORS as error:
                raise LogError(f"The run log cannot be opened: {describe(error)}.") from error
            undo.pop_all()
        writer = RedisWriter(self._redis, self._keys, self._append, self._settle)
        self._parts = _Parts(writer, watch)

    async def _check_server(self) -> None:
        about = await self._redis.info("server")
        version = str(about.get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST:
            raise LogError(
                f"The run log cannot be opened: Redis {version[:20]} is too old; expected 6.2 or newer."
            )
        parts = await self._redis.info("cluster")
        if parts.get("cluster_enabled") and not self._is_cluster:
            raise LogError(
                "The run log cannot be opened: this Redis is a node of a cluster; name it with "
                "redis+cluster://HOST:PORT."
            )
        for told in await self._memory():
            self._check_eviction(told)
        await self._redis.set(self._keys.schema, SCHEMA, nx=True)
        found = int(await self._redis.get(self._keys.schema) or 0)
        if found > SCHEMA:
            raise LogError(
                f"The run log in Redis has schema {found}, and this version knows {SCHEMA}. Upgrade "
                "adk-prism, or give this installation a prefix of its own (redis://…?prefix=NAME)."
            )

    async def _memory(self) -> Sequence[Mapping[str, Any]]:
        """Return what each node says of its memory; CONFIG would not be allowed everywhere."""
        if not self._is_cluster:
            return [await self._redis.info("memory")]
        told: Any = await self._redis.info("memory", target_nodes="primaries")
        return list(told.values()) if "maxmemory" not in told else [told]

    def _check_eviction(self, told: Mapping[str, Any]) -> None:
        """Refuse a Redis that would remove runs, and warn of one that could, or would remove leases."""
        policy = str(told.get("maxmemory_policy", NO_EVICTION))[:30]
        if policy == NO_EVICTION:
            return
        if int(told.get("maxmemory", 0)) and policy.startswith("allkeys-"):
            raise LogError(
                f"The run log cannot be opened: this Redis removes keys when it is full (maxmemory-policy "
                f"{policy}), and runs with them. Set maxmemory-policy noeviction, or use another Redis."
            )
        self._warn(
            f"Redis has maxmemory-policy {policy}: when it is full it removes keys, runs or leases. Set "
            "maxmemory-policy noeviction."
        )

    async def close(self) -> None:
        parts = self._parts
        if parts is None or parts.closing:
            return
        parts.closing = True
        waiting = [live for live in self._owned.values() if live.taken > live.committed]
        await parts.writer.stop()
        self._parts = None
        for live in self._owned.values():
            live.changed.notify()
        await parts.watch.close()
        await self._disconnect()
        self._owned.clear()
        for live in waiting:
            if live.failure:
                raise failed(live.run, live.failure)

    async def _disconnect(self) -> None:
        for redis in (self._redis, self._ear):
            await redis.aclose()

    @property
    def _is_open(self) -> bool:
        return self._parts is not None and not self._parts.closing

    def _usable(self) -> _Parts:
        """Return the parts of a log that takes appends and questions."""
        parts = self._parts
        if parts is None or parts.closing:
            raise not_open()
        if parts.writer.dead:
            raise LogError("The run log's writer has stopped. Restart the process.")
        return parts

    # ----------------------------------------------------------------------- writing

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        began = time.perf_counter()
        writer = self._usable().writer
        if writer.is_full:
            await writer.room()
            self._usable()
        live = self._owned.get(run)
        if live is not None and epoch > live.epoch:
            # Whoever wrote before in this process is no longer the owner: what Redis has counts.
            await self._flush(live)
            self._hand_on(live)
            live = None
        if live is None:
            live = await self._own(run, records)
            self._usable()
        records, packed = self._packed(records)
        self._admit(live, records, epoch)
        before, now = live.taken_bytes, self._clock()
        entries = live.take(records, packed, now, times)
        if entries:
            self._owned[run] = live
            size = live.taken_bytes
            writer.put(AppendBatch(live, entries, packed, size, size - before, epoch, now))
        self._observer.appended(time.perf_counter() - began)
        return Receipt(live.taken)

    def _hand_on(self, live: RedisRun) -> None:
        """Forget a run that somebody else writes now: what Redis has is the truth, also for who follows."""
        if self._owned.get(live.run) is live:
            del self._owned[live.run]
        live.is_left = True
        live.changed.notify()

    async def _flush(self, live: RedisRun) -> None:
        """Wait until it is known what became of all that a run has taken."""
        while (
            self._owned.get(live.run) is live and live.taken > live.committed and not live.failure
        ):
            self._usable().writer.hurry()
            await live.changed.wait()

    def _admit(self, live: BufferedRun, records: Sequence[Record], epoch: int) -> None:
        try:
            live.admit(records, epoch)
        except LogError:
            if live.failure and not live.committed:
                self._owned.pop(live.run, None)  # A start that could not be stored left nothing.
            raise

    async def _own(self, run: RunId, records: Sequence[Record]) -> RedisRun:
        """Return a head for a run that this process has not written: a new one, or one that is kept."""
        try:
            return self._owned.get(run) or await self._reader.load(run)
        except NotFound:
            start = first_of(run, records)
        except Gone as error:
            raise already_trimmed(run, records) from error
        summary = summary_of(start)
        number = await self._enlist(summary)
        # Another append may have started the run while this one looked for it.
        return self._owned.get(run) or RedisRun(summary, number, self._tail_bytes)

    async def _enlist(self, summary: RunSummary) -> int:
        """Put a run into the indexes, before it is there: what is there is then always found."""
        try:
            number = int(await self._redis.incr(self._keys.number))
            async with self._redis.pipeline(transaction=False) as pipeline:
                for index in (
                    self._keys.runs,
                    self._keys.unended,
                    self._keys.session(summary.origin),
                ):
                    pipeline.zadd(index, {summary.run: number})
                await pipeline.execute()
        except STORE_ERRORS as error:
            raise LogError(f"The run cannot be started: {describe(error)}.") from error
        return number

    def _settle(self, live: RedisRun, batches: Sequence[AppendBatch], result: AppendResult) -> None:
        """Take the writer's answer: show what is committed, note what failed, wake who waits."""
        if result.answer == "ok":
            last = batches[-1]
            live.commit(last.entries[-1], last.bytes)
            for batch in batches:
                live.tail.add(batch.entries, batch.packed)
            if live.outcome is not None:
                self._owned.pop(live.run, None)
        else:
            self._lose(live, result)
        live.changed.notify()

    def _lose(self, live: RedisRun, result: AppendResult) -> None:
        """Note that a run did not take what it was given."""
        parts = self._parts
        if parts is not None:
            parts.writer.discard(live)
        live.fail(_LOST.get(result.answer, result.detail))
        if result.answer == "gone":
            live.removed = True
        elif result.answer == "fenced":
            live.new_owner = int(result.detail)
        if result.answer != "failed":
            self._hand_on(live)

    async def commit(self, run: RunId) -> None:
        began = time.perf_counter()
        writer = self._usable().writer
        live = self._owned.get(run)
        if live is None:
            await self._reader.load(
                run
            )  # What others write is there already, or not yet anybody's.
            return
        wanted = live.taken
        while True:
            self._check_alive(live)
            if live.committed >= wanted:
                break
            writer.hurry()
            await live.changed.wait()
        self._observer.committed(time.perf_counter() - began)

    async def leave(self, run: RunId) -> None:
        live = self._owned.get(run)
        if live is not None and self._parts is not None:
            self._parts.writer.discard(live)
            self._hand_on(live)

    def _check_alive(self, live: RedisRun) -> None:
        """Raise what keeps a run from going on."""
        if live.removed:
            raise trimmed(live.run)
        if live.new_owner:
            raise fenced(live.run, live.new_owner, live.epoch)
        if live.failure:
            raise failed(live.run, live.failure)
        if self._is_open:
            self._usable()

    # ----------------------------------------------------------------------- reading

    async def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self._usable()
        live = self._owned.get(run) or await self._reader.load(run, patiently=follow)
        live.check_position(after)
        with self._observed(run, follow=follow):
            while True:
                is_owned = self._owned.get(run) is live
                reading = (self._read_owned if is_owned else self._read_others)(live, after, follow)
                async with aclosing(reading):
                    async for batch in reading:
                        yield batch
                        after = batch[-1].cursor
                if not (follow and live.is_left and self._is_open):
                    return
                # Somebody else goes on with the run: so does who follows it.
                live = self._owned.get(run) or await self._reader.load(run, patiently=True)

    async def _read_owned(
        self, live: RedisRun, after: int, follow: bool
    ) -> AsyncGenerator[Sequence[Entry], None]:
        last = live.committed
        while True:
            if follow:
                last = live.committed
            if after < last:
                batch = await self._batch(live, after, last, follow)
                if not batch:
                    return
                yield batch
                after = batch[-1].cursor
            elif not follow or live.outcome is not None or live.is_left or self._parts is None:
                return
            else:
                self._check_alive(live)
                await live.changed.wait()

    async def _read_others(
        self, live: BufferedRun, after: int, follow: bool
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Read a run that another process writes, or nobody any more."""
        async with AsyncExitStack() as stack:
            watched = None
            if follow and live.outcome is None and self._is_open:
                watched = await stack.enter_async_context(self._usable().watch.follow(live))
                live = watched.live
            while True:
                if after < live.committed:
                    batch = await self._batch(live, after, live.committed, follow)
                    if not batch:
                        return
                    yield batch
                    after = batch[-1].cursor
                elif watched is None or live.outcome is not None or self._parts is None:
                    return
                else:
                    watched.check()
                    await live.changed.wait()

    async def _batch(
        self, live: BufferedRun, after: int, last: int, follow: bool
    ) -> Sequence[Entry]:
        """Return committed entries, from memory where they are; none when the log has closed."""
        return live.tail.since(after) or await self._fetch(live, after, last, follow)

    async def _fetch(
        self, live: BufferedRun, after: int, last: int, follow: bool
    ) -> Sequence[Entry]:
        if self._parts is None:
            return ()
        try:
            return await self._reader.entries(live.run, after, last, patiently=follow)
        except LogError:
            if not self._is_open:
                return ()  # The log was closed meanwhile, and its connections with it.
            raise

    async def summary(self, run: RunId) -> RunSummary:
        self._usable()
        live = self._owned.get(run) or await self._reader.load(run)
        if not live.committed:
            self._check_alive(live)
        return live.summary()

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        wanted = Origin(app=app, user=user, session=session)
        index = self._keys.unended if unended else self._keys.runs
        if app and user and session:
            index = self._keys.session(wanted)
        found = await self._select(index)
        return [
            live.summary()
            for live in found
            if is_from(live.origin, wanted) and (live.outcome is None or not unended)
        ]

    async def _select(self, index: str) -> Sequence[RedisRun]:
        """Return the runs of an index in order; what this process writes, as it knows it."""
        self._usable()
        runs = await self._reader.select(index)
        for name in runs:
            live = self._owned.get(name)
            if live is not None and not live.removed and (live.committed or not live.failure):
                runs[name] = live
        found = [live for live in runs.values() if live is not None]
        return sorted(found, key=lambda live: live.number)

    # ----------------------------------------------------------------------- removing

    async def trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        found = await self._select(self._keys.runs)
        candidates = [
            EndedRun(live.run, live.ended, live.bytes) for live in found if live.ended is not None
        ]
        total = sum(live.bytes for live in found)
        chosen = runs_to_trim(candidates, total, retention, now)
        origins = {live.run: live.origin for live in found}
        return [run for run in chosen if await self._remove(run, origins[run], only_ended=True)]

    async def census(self, before: float) -> Census:
        found = await self._select(self._keys.runs)
        ended = [live.ended for live in found if live.ended is not None]
        return Census(len(ended), sum(each < before for each in ended))

    async def probe(self) -> None:
        self._usable()
        try:
            await self._redis.set(self._keys.probe, 1, px=1000)
        except STORE_ERRORS as error:
            raise LogError(f"The run log cannot be written: {describe(error)}.") from error

    async def delete_session(self, origin: Origin) -> Sequence[RunId]:
        writer = self._usable().writer
        # An empty string in an origin is a name here, and no wildcard.
        found = [
            live for live in await self._select(self._keys.session(origin)) if live.origin == origin
        ]
        for live in found:
            owned = self._owned.pop(live.run, None)
            if owned is not None:
                writer.discard(owned)
                owned.removed = True
                owned.changed.notify()
            await self._remove(live.run, origin)
        return [live.run for live in found]

    async def _remove(self, run: RunId, origin: Origin, *, only_ended: bool = False) -> bool:
        keys = self._keys.run(run)
        arguments = [TOMBSTONE_SECONDS, self._keys.channel(run), int(only_ended)]
        try:
            done = bool(await self._removal.call(self._redis, keys, arguments))
            async with self._redis.pipeline(transaction=False) as pipeline:
                for index in (self._keys.runs, self._keys.unended, self._keys.session(origin)):
                    pipeline.zrem(index, run)
                await pipeline.execute()
        except STORE_ERRORS as error:
            raise LogError(f"A run could not be removed: {describe(error)}.") from error
        return done


_LOST = {
    "gone": "it was removed",
    "fenced": "another owner has taken it over",
    "moved": "somebody else wrote to it",
    "ended": "it has ended elsewhere",
    "unknown": "it was never started",
}
