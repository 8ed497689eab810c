"""What processes that share a run log in Redis share besides: leases, values that expire, usage counters.

A lease is a key that expires; Redis measures the time, so the clocks of the machines do not matter. A thread
of the process renews all of its leases, also while the event loop is blocked.

Processes send messages on one channel. A message can be lost with a connection, so a process that waits also
looks by itself, and one that asks for something asks again.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar, cast

import msgspec

from adk_prism.errors import Conflict, LogError
from adk_prism.features.redis import connection
from adk_prism.features.redis.writer import describe, insist, log_errors
from adk_prism.log import coordination
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import RunId
from adk_prism.log.private_files import Notifier, cancel_task

_LOOKED = 200
"""Milliseconds for which no process looks again after one has found nothing: the cost of looking does not
grow with the number of processes, and a lost run is found hardly later."""

_COUNTED = 1.0
"""Seconds for Redis to count the subscribers; later their number is unknown."""

_FREE = "free"

_Answer = TypeVar("_Answer")


class RedisLeases:
    """The leases of one process, kept in Redis."""

    is_shared = True

    def __init__(
        self,
        url: str,
        *,
        prefix: str = connection.DEFAULT_PREFIX,
        ttl: float = coordination.DEFAULT_TTL,
    ) -> None:
        self._redis, self._ear = connection.asking(url, answer=ttl), connection.listening(url)
        self._keys = connection.Keys(prefix)
        self._ttl = ttl
        self._process = uuid.uuid4().hex
        self._claim = connection.Script(connection.CLAIM)
        self._release = connection.Script(connection.RELEASE)
        self._leases: dict[str, coordination.Lease] = {}
        """By token."""
        self._waiting: dict[str, Notifier] = {}
        """Wakes tasks that wait for a lease, by its name."""
        self._hears: dict[str, list[coordination.Hear]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._channel: Any = None
        self._confirmed = asyncio.Event()
        """Set when Redis has confirmed that this process accepts no new work."""
        self._counting = asyncio.Lock()
        self._url = url
        self._renewal: Renewal | None = None
        self._giving: set[asyncio.Task[None]] = set()

    # ----------------------------------------------------------------------- opening and closing

    async def open(self) -> None:
        try:
            for script in (self._claim, self._release):
                await script.ready(self._redis)
            self._channel = channel = self._ear.pubsub()
            await channel.subscribe(self._keys.words, self._keys.serving)
        except connection.STORE_ERRORS as error:
            await self._disconnect()
            raise LogError(f"Leases cannot be renewed: {describe(error)}.") from error
        self._renewal = self._new_renewal()
        self._renewal.start()
        self._tasks = [
            asyncio.create_task(self._turn(self._renewal), name="adk-prism loop turns"),
            asyncio.create_task(self._listen(channel), name="adk-prism lease messages"),
        ]

    async def close(self) -> None:
        await asyncio.gather(*map(cancel_task, self._tasks))
        self._tasks = []
        if self._renewal is not None:
            await asyncio.to_thread(self._renewal.stop)
        for lease in self.held():
            await self.release(lease)
        await self._disconnect()

    async def _disconnect(self) -> None:
        for redis in (self._redis, self._ear):
            with suppress(*connection.STORE_ERRORS):
                await redis.aclose()

    async def has_others(self) -> bool:
        # Two that ask at once would both connect again where the connection is lost, and leave one open.
        async with self._counting:
            return await self._count_others()

    async def _count_others(self) -> bool:
        # Every process that accepts new work subscribes to a channel. Redis drops a subscriber with its
        # connection, so the count is right without a clock.
        with suppress(*connection.STORE_ERRORS, TimeoutError):
            async with asyncio.timeout(_COUNTED):
                await self._channel.unsubscribe(self._keys.serving)
                await self._confirmed.wait()
                counted = await self._redis.pubsub_numsub(self._keys.serving)
                return any(number for _, number in counted)
        return False

    # ----------------------------------------------------------------------- taking and giving back

    async def begin(self, run: RunId) -> coordination.Lease:
        lease = self._new(run, is_of_a_run=True)
        if not await self._set(self._keys.lease(run), lease):
            raise Conflict(f"Run {run[:60]!r} is already active in another process.")
        return lease

    async def hold(self, name: str) -> coordination.Lease | None:
        lease = self._new(name)
        return lease if await self._set(self._keys.hold(name), lease) else None

    async def claim(self, summary: RunSummary) -> coordination.Lease | None:
        run = summary.run
        lease = self._new(run, is_of_a_run=True)
        keys = (self._keys.lease(run), self._keys.run(run).head)
        arguments = [lease.token, self._milliseconds]
        epoch = int(await self._ask(lambda: self._claim.call(self._redis, keys, arguments)))
        if not epoch:
            return None
        lease.epoch = epoch
        self._leases[lease.token] = lease
        return lease

    async def is_held(self, name: str) -> bool:
        key = self._keys.hold(name)
        return bool(await self._ask(lambda: self._redis.exists(key)))

    async def ownerless(self, log: RunLog) -> Sequence[RunId]:
        del log  # its index of active runs is in Redis too
        return await self._ask(self._ownerless)

    async def _ownerless(self) -> list[RunId]:
        """Check every unended run, unless another process has just done so and found nothing."""
        if not await self._redis.set(self._keys.look, self._process, px=_LOOKED, nx=True):
            return []
        found = await self._look()
        if found:
            await self._redis.delete(
                self._keys.look
            )  # There may be more of them than one process takes.
        return found

    async def _look(self) -> list[RunId]:
        names: Any = await self._redis.zrange(self._keys.unended, 0, -1)
        runs = [RunId(name.decode()) for name in names]
        found: list[RunId] = []
        for start in range(0, len(runs), AT_A_TIME):
            found += await self._without_owner(runs[start : start + AT_A_TIME])
        return found

    async def _without_owner(self, runs: Sequence[RunId]) -> list[RunId]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run in runs:
                pipeline.exists(self._keys.lease(run))
                pipeline.exists(self._keys.run(run).head)
            there = await pipeline.execute()
        left = [(run, at) for at, run in enumerate(runs) if not there[2 * at]]
        never_began = [run for run, at in left if not there[2 * at + 1]]
        if never_began:
            await self._redis.zrem(self._keys.unended, *never_began)
        return [run for run, at in left if there[2 * at + 1]]

    async def release(self, lease: coordination.Lease) -> None:
        if self._leases.pop(lease.token, None) is not None:
            await self._give_back(lease)

    async def _give_back(self, lease: coordination.Lease) -> None:
        word = msgspec.json.encode([_FREE, lease.name])
        arguments = [lease.token, self._keys.words, word]
        with suppress(*connection.STORE_ERRORS):  # Then it expires.
            await self._release.call(self._redis, (self._key(lease),), arguments)

    def _new(self, name: str, *, is_of_a_run: bool = False) -> coordination.Lease:
        token = f"{self._process}:{uuid.uuid4().hex}"
        until = time.monotonic() + self._ttl
        return coordination.Lease(name, token=token, is_of_a_run=is_of_a_run, until=until)

    async def _set(self, key: str, lease: coordination.Lease) -> bool:
        async def take() -> bool:
            if await self._redis.set(key, lease.token, px=self._milliseconds, nx=True):
                return True
            # The answer to an earlier attempt may have been lost.
            return await self._redis.get(key) == lease.token.encode()

        taken = await self._ask(take)
        if taken:
            self._leases[lease.token] = lease
        return taken

    def _key(self, lease: coordination.Lease) -> str:
        if lease.is_of_a_run:
            return self._keys.lease(RunId(lease.name))
        return self._keys.hold(lease.name)

    @property
    def _milliseconds(self) -> int:
        return int(self._ttl * 1000)

    async def _ask(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        with log_errors("Leases cannot be renewed"):
            return await insist(ask)

    # ----------------------------------------------------------------------- renewing

    def _new_renewal(self) -> Renewal:
        return Renewal(self._url, self._ttl, self)

    async def _turn(self, renewal: Renewal) -> None:
        while True:
            renewal.turned()
            await asyncio.sleep(self._ttl / RENEWALS)

    def held(self) -> Sequence[coordination.Lease]:
        """Return the leases of this process."""
        return list(self._leases.values())

    def apply(self, renewed: Sequence[tuple[coordination.Lease, bool]], until: float) -> None:
        """Take what became of leases that were renewed: whether each was kept, and until when."""
        for lease, kept in renewed:
            if lease.token not in self._leases:
                if kept:  # It was released while it was renewed.
                    task = asyncio.get_running_loop().create_task(self._give_back(lease))
                    self._giving.add(task)
                    task.add_done_callback(self._giving.discard)
            elif kept:
                lease.extend(until)
            else:
                del self._leases[lease.token]
                lease.lose()

    def arguments(self, lease: coordination.Lease) -> tuple[tuple[str, ...], list[Any]]:
        """Return the keys and the arguments with which the script keeps a lease."""
        key = self._key(lease)
        head = self._keys.run(RunId(lease.name)).head if lease.is_of_a_run else key
        epoch = lease.epoch if lease.is_of_a_run else ""
        return (key, head), [lease.token, self._milliseconds, epoch]

    # ----------------------------------------------------------------------- talking

    def listen(self, word: coordination.Word, hear: coordination.Hear) -> None:
        self._hears.setdefault(word, []).append(hear)

    async def say(self, word: coordination.Word, name: str) -> None:
        with suppress(*connection.STORE_ERRORS):
            await self._redis.publish(self._keys.words, msgspec.json.encode([word, name]))

    async def freed(self, name: str, seconds: float) -> None:
        notifier = self._waiting.setdefault(name, Notifier())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await notifier.wait()
        if not notifier.is_awaited:
            self._waiting.pop(name, None)

    async def _listen(self, channel: Any) -> None:
        while True:
            try:
                message = await channel.get_message(timeout=None)
            except connection.STORE_ERRORS:
                await asyncio.sleep(RETRY)
                continue
            if message is not None and message["type"] == "unsubscribe":
                self._confirmed.set()
            elif message is not None and message["type"] == "message":
                self._hear(message["data"])

    def _hear(self, data: bytes) -> None:
        try:
            word, name = msgspec.json.decode(data, type=tuple[str, str])
        except msgspec.MsgspecError:
            return  # of a newer version
        if word == _FREE and name in self._waiting:
            self._waiting[name].notify()
        for hear in self._hears.get(word, ()):
            hear(name)


# --------------------------------------------------------------------------- lease renewal

# Renews the leases of a process, in a thread with its own connection.
#
# A synchronous function of an agent can block the event loop for longer than a lease lasts, while its process
# is alive: so leases are not renewed on the loop. They are renewed while they are held (the task that records
# a run releases its lease, whatever ends that task), the process lives, and its loop has run within
# `LONGEST_BLOCK`: a loop that is blocked for longer is stuck, and another process should continue.
#
# One round trip renews many leases, three times per lease time. While Redis is down, no lease is sure and
# none is lost: no other process can take one either.

RENEWALS = 3
"""Per lease time: two may fail."""

RETRY = 0.2
"""Seconds until a renewal or a connection that failed is tried again."""

AT_A_TIME = 500
"""Leases in one round trip."""

LONGEST_BLOCK = 600.0
"""Seconds for which an event loop may be blocked while its process keeps its leases: longer than any useful
synchronous tool takes."""


class Renewal:
    """Renews leases until it is stopped."""

    def __init__(self, url: str, ttl: float, leases: RedisLeases) -> None:
        self._redis = connection.asking_in_thread(url, answer=ttl)
        self._ttl = ttl
        self._leases = leases
        self._loop = asyncio.get_running_loop()
        self._digest = ""
        self._turned = time.monotonic()
        self._stopped = threading.Event()
        # A daemon: a Redis that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="adk-prism leases", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def turned(self) -> None:
        """Note that the event loop turns."""
        self._turned = time.monotonic()

    def stop(self) -> None:
        """End, and wait until nothing more is renewed. Blocks for at most the answer of Redis."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(self._ttl)
        with suppress(*connection.STORE_ERRORS):
            self._redis.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self.renew()
            except connection.STORE_ERRORS:
                self._digest = ""  # A Redis that was restarted has forgotten the script.
                self._stopped.wait(RETRY)
            else:
                self._stopped.wait(self._ttl / RENEWALS)

    def renew(self) -> None:
        """Renew every lease once. Raise what Redis raises."""
        if time.monotonic() - self._turned > LONGEST_BLOCK:
            return
        leases = self._leases.held()
        for start in range(0, len(leases), AT_A_TIME):
            some = leases[start : start + AT_A_TIME]
            until = time.monotonic() + self._ttl
            kept = [bool(each) for each in self._keep(some)]
            if not self._stopped.is_set():
                for lease, is_kept in zip(some, kept, strict=True):
                    lease.promise(until if is_kept else -math.inf)
                renewed = list(zip(some, kept, strict=True))
                with suppress(RuntimeError):  # The loop was closed meanwhile.
                    self._loop.call_soon_threadsafe(self._leases.apply, renewed, until)

    def _keep(self, leases: Sequence[coordination.Lease]) -> list[Any]:
        if not self._digest:
            self._digest = str(self._redis.script_load(connection.RENEW))
        with self._redis.pipeline(transaction=False) as pipeline:
            for lease in leases:
                keys, arguments = self._leases.arguments(lease)
                # By name: redis-py's pipelines of clusters have no method for it.
                queue: Any = pipeline.execute_command
                queue("EVALSHA", self._digest, len(keys), *keys, *arguments)
            return list(pipeline.execute())


# --------------------------------------------------------------------------- short lived values

# An expiring store in Redis: keys with a time to live, taken with GETDEL (Redis 6.2).


class RedisValues:
    """Small values by name, with a time to live, which processes share."""

    def __init__(self, url: str, *, prefix: str = connection.DEFAULT_PREFIX) -> None:
        self._redis = connection.asking(url)
        self._keys = connection.Keys(prefix)

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def put(self, name: str, value: bytes, seconds: float, by: str = "") -> None:
        """Store a value. Their number is bounded by their lifetimes and the callers' rate limits."""
        del by
        with log_errors("Shared data cannot be written to Redis"):
            await self._redis.set(self._keys.expiring(name), value, px=int(seconds * 1000))

    async def take(self, name: str) -> bytes | None:
        """Remove a value and return it."""
        with log_errors("Shared data cannot be read from Redis"):
            found = await self._redis.getdel(self._keys.expiring(name))
        return cast("bytes | None", found)  # what is not decoded is bytes


# --------------------------------------------------------------------------- usage counters

# Counters of open connections, rates and bytes for each caller. Each operation is one script, so that two
# callers at once are counted one after the other. Redis measures the time. Counts that are not renewed
# expire: those of a dead process after `SECONDS`.
#
# The keys of one caller share a hash tag. All of them expire.

_COUNT_SECONDS = 1.0
"""Seconds for an answer: a request waits for it."""

_BUCKET = connection.read_script("bucket")

ENTER = _BUCKET + connection.read_script("enter")

RENEW_USE = _BUCKET + connection.read_script("renew_use")

USE = _BUCKET + connection.read_script("use")


class RedisUsageCounters:
    """Counters that processes share. Every method raises `LogError` if Redis is not reachable."""

    def __init__(self, url: str, *, prefix: str = connection.DEFAULT_PREFIX) -> None:
        self._redis = connection.asking(url, answer=_COUNT_SECONDS)
        self._key = connection.Keys(prefix).count
        self._enter, self._renew, self._use = map(connection.Script, (ENTER, RENEW_USE, USE))

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def enter(
        self, wanted: coordination.Member, allowed: coordination.UsageLimits
    ) -> coordination.LimitCheck:
        """Count something that opens, if it is within the limits."""
        keys = tuple(self._key(wanted.name, part) for part in (wanted.kind, "rate", "bytes"))
        bounds = [allowed.open, allowed.rate, allowed.burst, allowed.bytes]
        arguments = [wanted.member, int(coordination.SECONDS * 1000), *bounds]
        answer: Any = await _asked(self._enter.call(self._redis, keys, arguments))
        return coordination.LimitCheck(answer[0].decode(), int(answer[1]) / 1000)

    async def renew(self, members: Iterable[coordination.Member]) -> None:
        """Keep things counted as open."""
        keyed = sorted((self._key(each.name, each.kind), each.member) for each in members)
        for key, group in groupby(keyed, key=itemgetter(0)):
            arguments = [int(coordination.SECONDS * 1000), *(member for _, member in group)]
            await _asked(self._renew.call(self._redis, (key,), arguments))

    async def leave(self, member: coordination.Member) -> None:
        """Stop counting something as open."""
        await _asked(self._redis.zrem(self._key(member.name, member.kind), member.member))

    async def use(self, used: Sequence[tuple[str, int, float]]) -> Sequence[float]:
        """Count bytes."""
        waits: list[float] = []
        for name, amount, rate in used:
            keys = (self._key(name, "bytes"),)
            answer: Any = await _asked(self._use.call(self._redis, keys, [amount, rate]))
            waits.append(int(answer) / 1000)
        return waits


async def _asked(question: Awaitable[_Answer]) -> _Answer:
    with log_errors("Shared limits cannot be counted"):
        return await question


# --------------------------------------------------------------------------- sums of a day

CHARGE = connection.read_script("charge")

_SUMS = "sums"
"""All accounts of a server are in one slot, so that one script can charge several."""
_SUMS_KEPT = 2 * 24 * 3600
"""Seconds: clocks of processes differ."""


class RedisSums:
    """Sums by account and day that processes share."""

    def __init__(self, url: str, *, prefix: str = connection.DEFAULT_PREFIX) -> None:
        self._redis = connection.asking(url)
        self._keys = connection.Keys(prefix)
        self._charge = connection.Script(CHARGE)

    def _key(self, day: str, account: str = "") -> str:
        return self._keys.count(_SUMS, f"{day}:{account}")

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def charge(
        self, day: str, charges: Sequence[coordination.Charge], once: str = ""
    ) -> coordination.OverSum | None:
        """Add all amounts, or return a sum that has reached its most."""
        keys = (self._key(day), *(self._key(day, each.account) for each in charges))
        changes = [json.dumps([dict(each.amounts), dict(each.most)]) for each in charges]
        with log_errors("Budgets cannot be counted"):
            arguments = [once, _SUMS_KEPT, *changes]
            answer: Any = await self._charge.call(self._redis, keys, arguments)
        if not answer:
            return None
        return coordination.OverSum(charges[int(answer[0])].account, answer[1].decode())

    async def read(self, day: str, accounts: Sequence[str]) -> Sequence[coordination.Sums]:
        """Return the sums of accounts."""
        with log_errors("Budgets cannot be read"):
            found: list[Any] = [
                await cast("Any", self._redis.hgetall(self._key(day, each))) for each in accounts
            ]
        return [{name.decode(): int(sum) for name, sum in each.items()} for each in found]


# --------------------------------------------------------------------------- all of it


class RedisCoordination:
    """What the processes that use a run log in Redis coordinate by."""

    is_shared = True

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        self._prefix = prefix

    def leases(self, ttl: float = coordination.DEFAULT_TTL) -> RedisLeases:
        """Return the leases of this process."""
        return RedisLeases(self._url, prefix=self._prefix, ttl=ttl)

    def values(self) -> RedisValues:
        """Return values that expire."""
        return RedisValues(self._url, prefix=self._prefix)

    def counters(self) -> RedisUsageCounters:
        """Return what counts for all processes."""
        return RedisUsageCounters(self._url, prefix=self._prefix)

    def sums(self) -> RedisSums:
        """Return the sums of all processes."""
        return RedisSums(self._url, prefix=self._prefix)
