"""Runs in Redis Streams, for any number of processes, on Redis 6.2 or newer, or Valkey.

Every process can write, read and follow every run. A run has one owner at a time: each append is checked in
Redis against the run's epoch and its last cursor, so an owner that was replaced can add nothing. Runs that
another process writes are followed through pub/sub (`subscriptions.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from adk_prism.runlog.buffered_log import BufferedLog
from adk_prism.runlog.contract import Census, RunSummary, SearchPage
from adk_prism.runlog.entry import Entry, Origin, RunId
from adk_prism.runlog.log_store import AppendResult, FollowedRun, Group, StoredRun
from adk_prism.runlog.notes import Note, NoteOwner
from adk_prism.runlog.recent_entries import TAIL_BYTES, BufferedRun
from adk_prism.runlog.redis.client import asking, is_cluster, listening
from adk_prism.runlog.redis.keys import DEFAULT_PREFIX, Keys
from adk_prism.runlog.redis.notes import RedisNotes
from adk_prism.runlog.redis.pieces import RedisPieces
from adk_prism.runlog.redis.reader import RedisReader
from adk_prism.runlog.redis.run_search import RedisDigests
from adk_prism.runlog.redis.scripts import APPEND, REMOVE, Script
from adk_prism.runlog.redis.server_check import check_server
from adk_prism.runlog.redis.subscriptions import RunSubscriptions
from adk_prism.runlog.redis.writer import RedisWriter, insist, log_errors
from adk_prism.runlog.retention import EndedRun
from adk_prism.runlog.run_digest import RunDigest
from adk_prism.runlog.run_query import RunQuery
from adk_prism.runlog.run_state import is_from

TOMBSTONE_SECONDS = 30 * 24 * 3600
"""For a month a removed run is answered with *gone*; after that with *not found*."""


class RedisStore:
    """Is a `LogStore`."""

    is_shared = True

    def __init__(self, url: str, prefix: str, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._is_cluster = is_cluster(url)
        self.redis, self._listening = asking(url), listening(url)
        self.keys = Keys(prefix)
        self._append, self._remove = Script(APPEND), Script(REMOVE)
        self._pieces = RedisPieces(self.redis, self.keys)
        self._notes = RedisNotes(self.redis, self.keys)
        self._digests = RedisDigests(self.redis, self.keys)

    async def open(self) -> Sequence[StoredRun]:
        self._reader = RedisReader(self.redis, self.keys)
        self._writer = RedisWriter(self.redis, self.keys, self._append)
        self._subscriptions = RunSubscriptions(self._listening, self.keys, self._reader.advance)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self._disconnect)
            with log_errors("The run log cannot be opened"):
                await check_server(self.redis, self.keys, self._warn, is_cluster=self._is_cluster)
                await self._append.ready(self.redis)
                await self._remove.ready(self.redis)
                await self._pieces.ready()
                await self._notes.ready()
                await self._digests.ready()
                await self._subscriptions.open()
            undo.pop_all()
        return ()

    def closing(self) -> None:
        self._writer.closing()
        self._reader.is_closing = True

    async def close(self) -> None:
        await self._subscriptions.close()
        await self._disconnect()

    async def _disconnect(self) -> None:
        for redis in (self.redis, self._listening):
            await redis.aclose()

    # ----------------------------------------------------------------------- writing

    async def register(self, summary: RunSummary) -> int:
        """Put a run into the indexes before it is stored: what is stored is then always found."""

        async def register() -> int:
            number = int(await self.redis.incr(self.keys.number))
            async with self.redis.pipeline(transaction=False) as pipeline:
                for index in self._indexes(summary.origin):
                    pipeline.zadd(index, {summary.run: number})
                await pipeline.execute()
            return number

        with log_errors("The run cannot be started"):
            return await insist(register)

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
        with log_errors("A run could not be removed"):
            done = bool(await self._remove.call(self.redis, keys, arguments))
            async with self.redis.pipeline(transaction=False) as pipeline:
                for index in self._indexes(origin) if origin is not None else ():
                    pipeline.zrem(index, run)
                pipeline.zrem(self.keys.digests, run)
                pipeline.hdel(self.keys.revisions, run)
                await pipeline.execute()
            if done and origin is not None:
                await self._pieces.drop(origin)
                await self._notes.drop(origin)
        return done

    async def find_pieces(self, live: BufferedRun, digests: Sequence[bytes]) -> dict[bytes, int]:
        return await self._pieces.find(live.origin, digests)

    async def put_pieces(self, live: BufferedRun, new: Mapping[bytes, bytes]) -> dict[bytes, int]:
        return await self._pieces.put(live, new)

    async def get_pieces(self, live: BufferedRun, numbers: Sequence[int]) -> dict[int, bytes]:
        return await self._pieces.get(live.origin, numbers)

    async def put_note(self, owner: NoteOwner, note: Note) -> None:
        await self._notes.put(owner, note)

    async def delete_notes(self, owner: NoteOwner, note: tuple[str, str] | None = None) -> None:
        await self._notes.delete(owner, note)

    async def notes(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        return await self._notes.get(owners)

    async def noted(self, kind: str) -> Sequence[Origin]:
        return await self._notes.noted(kind)

    async def probe(self) -> None:
        with log_errors("The run log cannot be written"):
            await self.redis.set(self.keys.probe, 1, px=1000)

    # ----------------------------------------------------------------------- reading

    async def find(self, run: RunId, *, patient: bool = False) -> StoredRun:
        return await self._reader.find(run, patient=patient)

    async def entries(
        self, live: BufferedRun, after: int, last: int, *, patient: bool = False
    ) -> Sequence[Entry]:
        return await self._reader.entries(live.run, after, last, patient=patient)

    async def select(self, wanted: Origin, *, unended: bool) -> Sequence[StoredRun]:
        index = self.keys.unended if unended else self.keys.runs
        if wanted.app and wanted.user and wanted.session:
            index = self.keys.session(wanted)
        found = await self._reader.select(index)
        return [each for each in found if is_from(each.summary.origin, wanted)]

    async def sizes(self) -> tuple[Sequence[EndedRun], int]:
        ended: list[EndedRun] = []
        others = 0
        for each in await self._reader.select(self.keys.runs):
            run = each.summary
            if run.ended is not None:
                ended.append(EndedRun(run.run, run.ended, run.bytes, run.origin))
            else:
                others += run.bytes
        return ended, others

    async def census(self, before: float) -> Census:
        ended, _ = await self.sizes()
        return Census(len(ended), sum(each.ended < before for each in ended))

    async def index(self, run: RunId, digest: RunDigest) -> None:
        await self._digests.put(run, digest)

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        return await self._digests.missing(limit)

    async def search(self, query: RunQuery, limit: int, before: int | None) -> SearchPage:
        return await self._digests.search(query, limit, before)

    def follow(self, live: BufferedRun) -> AbstractAsyncContextManager[FollowedRun]:
        return self._subscriptions.follow(live)


class RedisLog(BufferedLog):
    """Keeps runs in Redis, for any number of processes.

    A commit is as durable as Redis: with `appendonly yes` it survives a crash of Redis, except for the last
    moments that `appendfsync everysec` may lose.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        tail_bytes: int = TAIL_BYTES,
        clock: Callable[[], float] = time.time,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`warn` is called for a Redis that can be used, but should be configured differently."""
        super().__init__(RedisStore(url, prefix, warn), tail_bytes=tail_bytes, clock=clock)
