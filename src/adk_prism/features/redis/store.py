"""Runs in Redis Streams, for any number of processes, on Redis 6.2 or newer, or Valkey.

Every process can write, read and follow every run. A run has one owner at a time: each append is checked in
Redis against the run's epoch and its last cursor, so an owner that was replaced can add nothing. Runs that
another process writes are followed through pub/sub (`subscriptions.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Raw
from redis.asyncio import Redis

from adk_prism.features.redis import connection, writer
from adk_prism.log import contract
from adk_prism.log.buffered_log import BufferedLog
from adk_prism.log.contract import EndedRun
from adk_prism.log.entry import Entry, Origin, RunId
from adk_prism.log.group_commit import PATIENCE, AppendResult, FollowedRun, Group, StoredRun
from adk_prism.log.run_state import READ_BATCH, BufferedRun, is_from, trimmed, unknown

TOMBSTONE_SECONDS = 30 * 24 * 3600
"""For a month a removed run is answered with *gone*; after that with *not found*."""

_AT_A_TIME = 500
"""Runs fetched in one round trip."""

_Answer = TypeVar("_Answer")


class RedisStore:
    """Is a `LogStore`.

    A query fails after a moment while Redis is down, with one exception: a follower of a run waits, as the
    run's writer does. A restart or a failover is then a pause in the stream, not its end.
    """

    is_shared = True

    def __init__(self, url: str, prefix: str, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._is_cluster = connection.is_cluster(url)
        self.redis, self._listening = connection.asking(url), connection.listening(url)
        self.keys = connection.Keys(prefix)
        self._append = connection.Script(connection.APPEND)
        self._remove = connection.Script(connection.REMOVE)
        self._writer = writer.RedisWriter(self.redis, self.keys, self._append)
        self.side = RedisSide(self.redis, self.keys)

    async def open(self) -> Sequence[StoredRun]:
        self._is_closing = False
        """Nothing is tried again while the log closes."""
        self._subscriptions = writer.RunSubscriptions(self._listening, self.keys, self.advance)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self._disconnect)
            with writer.log_errors("The run log cannot be opened"):
                await connection.check_server(
                    self.redis, self.keys, self._warn, is_cluster=self._is_cluster
                )
                await self._append.ready(self.redis)
                await self._remove.ready(self.redis)
                await self.side.ready()
                await self._subscriptions.open()
            undo.pop_all()
        return ()

    def closing(self) -> None:
        self._is_closing = True

    async def close(self) -> None:
        await self._subscriptions.close()
        await self._disconnect()

    async def _disconnect(self) -> None:
        for redis in (self.redis, self._listening):
            await redis.aclose()

    # ----------------------------------------------------------------------- writing

    async def register(self, summary: contract.RunSummary) -> int:
        """Put a run into the indexes before it is stored: what is stored is then always found."""

        async def register() -> int:
            number = int(await self.redis.incr(self.keys.number))
            async with self.redis.pipeline(transaction=False) as pipeline:
                for index in self._indexes(summary.origin):
                    pipeline.zadd(index, {summary.run: number})
                await pipeline.execute()
            return number

        with writer.log_errors("The run cannot be started"):
            return await writer.insist(register)

    def _indexes(self, origin: Origin) -> Sequence[str]:
        return self.keys.runs, self.keys.unended, self.keys.session(origin)

    def write_now(self, group: Group) -> Sequence[AppendResult] | None:
        del group  # Redis is always a round trip away.
        return None

    async def write(self, group: Group) -> Sequence[AppendResult]:
        return await self._writer.write(group)

    async def remove(self, run: RunId, origin: Origin | None, *, only_ended: bool = False) -> bool:
        keys = self.keys.run(run)
        arguments = [TOMBSTONE_SECONDS, self.keys.channel(run), int(only_ended)]
        with writer.log_errors("A run could not be removed"):
            done = bool(await self._remove.call(self.redis, keys, arguments))
            async with self.redis.pipeline(transaction=False) as pipeline:
                for index in self._indexes(origin) if origin is not None else ():
                    pipeline.zrem(index, run)
                # A digest is there if these name it.
                pipeline.zrem(self.keys.digests, run)
                pipeline.hdel(self.keys.revisions, run)
                await pipeline.execute()
            if done and origin is not None:
                await self.side.drop(origin)
        return done

    async def probe(self) -> None:
        with writer.log_errors("The run log cannot be written"):
            await self.redis.set(self.keys.probe, 1, px=1000)

    # ----------------------------------------------------------------------- reading

    async def find(self, run: RunId, *, patient: bool = False) -> StoredRun:
        """Return a run; raise `NotFound`, `Gone` or `LogError`."""
        keys = self.keys.run(run)

        async def ask() -> list[Any]:
            async with self.redis.pipeline(transaction=False) as pipeline:
                pipeline.hgetall(keys.head)
                pipeline.exists(keys.tombstone)
                return list(await pipeline.execute())

        fields, gone = await self._ask(ask, patient)
        if not fields:
            raise trimmed(run) if gone else unknown(run)
        return writer.read_run(run, fields)

    async def entries(
        self, live: BufferedRun, after: int, last: int, *, patient: bool = False
    ) -> Sequence[Entry]:
        name = self.keys.run(live.run).entries
        rows: Any = await self._ask(
            lambda: self.redis.xrange(name, f"{after + 1}-0", f"{last}-9", READ_BATCH), patient
        )
        entries, _ = writer.read_rows(rows)
        if not entries or entries[0].cursor != after + 1:
            raise trimmed(live.run)
        return entries

    async def select(self, wanted: Origin, *, unended: bool) -> Sequence[StoredRun]:
        index = self.keys.unended if unended else self.keys.runs
        if wanted.app and wanted.user and wanted.session:
            index = self.keys.session(wanted)
        found = await self._select(index)
        return [each for each in found if is_from(each.summary.origin, wanted)]

    async def sizes(self) -> tuple[Sequence[EndedRun], int]:
        ended: list[EndedRun] = []
        others = 0
        for each in await self._select(self.keys.runs):
            run = each.summary
            if run.ended is not None:
                ended.append(EndedRun(run.run, run.ended, run.bytes, run.origin))
            else:
                others += run.bytes
        return ended, others

    def follow(self, live: BufferedRun) -> AbstractAsyncContextManager[FollowedRun]:
        return self._subscriptions.follow(live)

    async def _select(self, index: str) -> list[StoredRun]:
        """Return the stored runs that an index names."""
        found: list[StoredRun] = []
        members: Any = await self._ask(lambda: self.redis.zrange(index, 0, -1))
        names = [RunId(name.decode()) for name in members]
        for start in range(0, len(names), _AT_A_TIME):
            some = names[start : start + _AT_A_TIME]
            heads = await self._ask(partial(self._heads, some))
            found += [writer.read_run(*each) for each in zip(some, heads, strict=True) if each[1]]
        return found

    async def _heads(self, names: Sequence[RunId]) -> list[Any]:
        async with self.redis.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.hgetall(self.keys.run(name).head)
            return list(await pipeline.execute())

    async def advance(self, live: BufferedRun) -> bool:
        """Read what another process has added to a run; return whether more may come.

        Raise redis-py's own errors: the follower tries again.
        """
        keys = self.keys.run(live.run)
        while True:
            rows: Any = await self.redis.xrange(
                keys.entries, f"{live.committed + 1}-0", "+", READ_BATCH
            )
            if not rows:
                break
            entries, packed = writer.read_rows(rows)
            if entries[0].cursor != live.committed + 1:
                raise trimmed(live.run)
            live.taken_at = entries[-1].time
            live.commit(entries[-1], live.bytes + sum(len(payload) for _, payload in packed))
            live.recent.add(entries, packed)
            live.changed.notify()
        if live.outcome is None and not await self.redis.exists(keys.head):
            live.removed = True
        return live.outcome is None and not live.removed

    async def _ask(self, ask: Callable[[], Awaitable[_Answer]], patient: bool = False) -> _Answer:
        seconds = PATIENCE if patient else writer.MOMENT
        with writer.log_errors("The run log cannot be read"):
            return await writer.insist(ask, seconds, lambda: self._is_closing)


class RedisLog(BufferedLog):
    """Keeps runs in Redis, for any number of processes.

    A commit is as durable as Redis: with `appendonly yes` it survives a crash of Redis, except for the last
    moments that `appendfsync everysec` may lose.
    """

    store: RedisStore

    def __init__(
        self,
        url: str,
        *,
        prefix: str = connection.DEFAULT_PREFIX,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` is called for a Redis that can be used, but should be configured differently."""
        super().__init__(RedisStore(url, prefix, warn))
        self.digests = RedisDigests(self)
        """What runs are found by: the search reads and writes it."""


# ---------------------------------------------------------------------------
# Digests: what the newest runs are found by. Whoever makes them knows what they mean.


class RedisDigests:
    """Keeps a digest of each of the newest runs. Every method raises `LogError`."""

    def __init__(self, log: RedisLog) -> None:
        self._log = log
        self._redis = log.store.redis
        self._keys = log.store.keys
        self._put = connection.Script(connection.PUT_DIGEST)

    async def put(self, run: RunId, digest: bytes, most: int) -> None:
        """Store the digest of a run that has ended and is still there; the oldest beyond `most` go."""
        keys, index = self._keys, self._keys.digests
        with self._errors("A run could not be indexed"):
            number = await self._put.call(self._redis, keys.run(run), [digest])
            if not number:
                return
            is_new = await self._redis.zadd(index, {run: int(number)})
            if not is_new:
                await self._redis.hincrby(keys.revisions, run, 1)
            surplus: Any = await self._redis.zrange(index, 0, -most - 1)
            for each in surplus:
                await self._redis.delete(keys.run(RunId(each.decode())).digest)
            if surplus:
                await self._redis.zrem(index, *surplus)
                await self._redis.hdel(keys.revisions, *surplus)

    async def get(
        self, runs: Collection[RunId]
    ) -> Sequence[tuple[contract.RunSummary, bytes | None]]:
        """Return those runs that are there, and their digests."""
        with self._errors():
            async with self._redis.pipeline(transaction=False) as pipeline:
                for run in runs:
                    pipeline.hgetall(self._keys.run(run).head)
                    pipeline.get(self._keys.run(run).digest)
                answers = list(await pipeline.execute())
        found = zip(runs, answers[::2], answers[1::2], strict=True)
        return [
            (writer.read_run(run, fields).summary, digest)
            for run, fields, digest in found
            if fields
        ]

    async def numbers(self, most: int) -> dict[RunId, int]:
        """Return the places of the newest runs that have a digest in the order of starts, newest first."""
        with self._errors():
            return await self._newest(self._keys.digests, most)

    async def revisions(self) -> Mapping[RunId, bytes]:
        """Return how often digests were replaced."""
        with self._errors():
            found: Any = await self._redis.hgetall(self._keys.revisions)
        return {RunId(run.decode()): revision for run, revision in found.items()}

    async def newest(self, most: int) -> Sequence[RunId]:
        """Return those of the newest runs that may have ended, with and without a digest."""
        with self._errors():
            runs = await self._newest(self._keys.runs, most)
            unended = await self._newest(self._keys.unended, most)
        return [run for run in runs if run not in unended]

    async def count_ended(self) -> int:
        """Return how many runs have ended."""
        with self._errors():
            runs = int(await self._redis.zcard(self._keys.runs))
            return runs - int(await self._redis.zcard(self._keys.unended))

    async def _newest(self, index: str, most: int) -> dict[RunId, int]:
        rows: Any = await self._redis.zrange(index, 0, most - 1, desc=True, withscores=True)
        return {RunId(name.decode()): int(number) for name, number in rows}

    def _errors(self, what: str = "The run log cannot be read") -> AbstractContextManager[None]:
        self._log.usable()
        return writer.log_errors(what)


# ---------------------------------------------------------------------------
# The side store: a hash of values for each run or session, two hashes of texts for a session.
#
# Sessions with values are also in a set for each space. It keeps those whose last value was removed, because
# another process may add one at that moment. When a session is removed, every set forgets it; the spaces are
# in a set too. Numbers of texts come from one counter for all sessions; those that a call did not need stay
# unused. The keys are those of adk-prism 0.1, where values were notes and texts were pieces.

_AT_ONCE = 500
"""Fields in one command."""

_decode_field = msgspec.json.Decoder(tuple[str, str]).decode
_decode_value = msgspec.json.Decoder(tuple[float, Raw]).decode
_encode = msgspec.json.encode


class RedisSide:
    """Is a `SideStorage`."""

    def __init__(self, redis: Redis, keys: connection.Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._put = connection.Script(connection.PUT_NOTE)
        self._add = connection.Script(connection.PUT_PIECES)

    async def ready(self) -> None:
        """Load the scripts; raise redis-py's own errors."""
        await self._put.ready(self._redis)
        await self._add.ready(self._redis)

    async def put_value(self, owner: contract.Owner, value: contract.SideValue) -> None:
        """Store a value. Raise `Gone` or `Conflict`."""
        field, text = _encode((value.space, value.key)), _encode((value.time, Raw(value.value)))
        with writer.log_errors("A note could not be stored"):
            if isinstance(owner, Origin):
                # First: what is stored is then always found.
                await self._redis.sadd(self._keys.note_kinds, value.space)
                await self._redis.sadd(self._keys.noted(value.space), contract.owner_name(owner))
            answer = await self._put.call(
                self._redis, self._places(owner), [field, text, contract.OWNER_VALUES]
            )
        if answer == b"full":
            raise contract.too_many()
        if answer == b"gone" and not isinstance(owner, Origin):
            raise trimmed(owner)

    async def delete_values(
        self, owner: contract.Owner, value: tuple[str, str] | None = None
    ) -> None:
        """Remove a value, or all of an owner."""
        with writer.log_errors("A note could not be removed"):
            if value is not None:
                await self._redis.hdel(self._places(owner)[0], _encode(value))
            elif isinstance(owner, Origin):
                await self._drop(owner)
            else:
                await self._redis.delete(self._places(owner)[0])

    async def drop(self, origin: Origin) -> None:
        """Remove all of a session without runs; raise redis-py's own errors."""
        if not await self._redis.zcard(self._keys.session(origin)):
            await self._redis.delete(*self._keys.pieces(origin))
            await self._drop(origin)

    async def _drop(self, origin: Origin) -> None:
        notes = self._keys.session_notes(origin)
        fields: Any = await self._redis.hkeys(notes)
        kinds: Any = await self._redis.smembers(self._keys.note_kinds)
        await self._redis.delete(notes)
        known = {kind.decode() for kind in kinds}
        for kind in sorted(known | {_decode_field(field)[0] for field in fields}):
            await self._redis.srem(self._keys.noted(kind), contract.owner_name(origin))

    async def list_values(
        self, owners: Collection[contract.Owner]
    ) -> dict[contract.Owner, Sequence[contract.SideValue]]:
        """Return the values of those owners that have any."""
        with writer.log_errors("Notes cannot be read"):
            async with self._redis.pipeline(transaction=False) as pipeline:
                for owner in owners:
                    pipeline.hgetall(self._places(owner)[0])
                found = await pipeline.execute()
        notes = {owner: _values(fields) for owner, fields in zip(owners, found, strict=True)}
        return {owner: some for owner, some in notes.items() if some}

    async def list_owners(self, space: str) -> Sequence[Origin]:
        """Return the sessions that have, or had, a value in a space."""
        with writer.log_errors("Notes cannot be read"):
            names: Any = await self._redis.smembers(self._keys.noted(space))
        return [contract.session_named(name.decode()) for name in sorted(names)]

    def _places(self, owner: contract.Owner) -> tuple[str, ...]:
        """Return the key of an owner's values, and of what must exist for them."""
        if isinstance(owner, Origin):
            return (self._keys.session_notes(owner),)
        keys = self._keys.run(owner)
        return keys.notes, keys.head

    async def find_texts(self, origin: Origin, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Return the numbers of those texts that a session has."""
        numbers, _ = self._keys.pieces(origin)
        found = await self._fields(numbers, digests)
        return {digest: int(number) for digest, number in found.items()}

    async def get_texts(self, origin: Origin, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return texts of a session by number."""
        _, pieces = self._keys.pieces(origin)
        return await self._fields(pieces, numbers)

    async def _fields(self, key: str, names: Sequence[Any]) -> dict[Any, bytes]:
        values: list[Any] = []
        with writer.log_errors("Pieces cannot be read"):
            for start in range(0, len(names), _AT_ONCE):
                values += await self._redis.hmget(key, list(names[start : start + _AT_ONCE]))
        return {name: value for name, value in zip(names, values, strict=True) if value is not None}

    async def add_texts(
        self, run: RunId, origin: Origin, new: Mapping[bytes, bytes]
    ) -> dict[bytes, int]:
        """Store texts; return their numbers, without those beyond the limit. Raise `Gone`."""
        with writer.log_errors("Pieces could not be stored"):
            if not await self._redis.exists(self._keys.run(run).head):
                raise trimmed(run)
            last = int(await self._redis.incrby(self._keys.piece, len(new)))
            arguments: list[Any] = [contract.SESSION_BYTES]
            for number, (digest, payload) in enumerate(new.items(), last - len(new) + 1):
                arguments += (digest, number, payload)
            keys = self._keys.pieces(origin)
            numbers = await self._add.call(self._redis, keys, arguments)
        return {digest: number for digest, number in zip(new, numbers, strict=True) if number}


def _values(fields: dict[bytes, bytes]) -> list[contract.SideValue]:
    found = []
    for field, stored in fields.items():
        time, text = _decode_value(stored)
        found.append(contract.SideValue(*_decode_field(field), time, bytes(text)))
    return contract.by_space_and_key(found)
