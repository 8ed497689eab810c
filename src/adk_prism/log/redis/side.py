"""The side store of a Redis log: a hash of values for each run or session, two hashes of texts for a session.

Sessions with values are also in a set for each space. It keeps those whose last value was removed, because
another process may add one at that moment. When a session is removed, every set forgets it; the spaces are in
a set too. Numbers of texts come from one counter for all sessions; those that a call did not need stay
unused. The keys are those of adk-prism 0.1, where values were notes and texts were pieces.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw
from redis.asyncio import Redis

from adk_prism.log.contract import (
    OWNER_VALUES,
    SECONDS,
    SESSION_BYTES,
    LimitCheck,
    Member,
    Owner,
    SideValue,
    UsageLimits,
    by_space_and_key,
    owner_name,
    session_named,
    too_many,
)
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.redis.connection import (
    DEFAULT_PREFIX,
    PUT_NOTE,
    PUT_PIECES,
    Keys,
    Script,
    asking,
)
from adk_prism.log.redis.writer import log_errors
from adk_prism.log.run_state import trimmed

_AT_ONCE = 500
"""Fields in one command."""

_decode_field = msgspec.json.Decoder(tuple[str, str]).decode
_decode_value = msgspec.json.Decoder(tuple[float, Raw]).decode
_encode = msgspec.json.encode


class RedisSide:
    """Is a `SideStorage`."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._put, self._add = Script(PUT_NOTE), Script(PUT_PIECES)

    async def ready(self) -> None:
        """Load the scripts; raise redis-py's own errors."""
        await self._put.ready(self._redis)
        await self._add.ready(self._redis)

    async def put_value(self, owner: Owner, value: SideValue) -> None:
        """Store a value. Raise `Gone` or `Conflict`."""
        field, text = _encode((value.space, value.key)), _encode((value.time, Raw(value.value)))
        with log_errors("A note could not be stored"):
            if isinstance(owner, Origin):
                # First: what is stored is then always found.
                await self._redis.sadd(self._keys.note_kinds, value.space)
                await self._redis.sadd(self._keys.noted(value.space), owner_name(owner))
            answer = await self._put.call(
                self._redis, self._places(owner), [field, text, OWNER_VALUES]
            )
        if answer == b"full":
            raise too_many()
        if answer == b"gone" and not isinstance(owner, Origin):
            raise trimmed(owner)

    async def delete_values(self, owner: Owner, value: tuple[str, str] | None = None) -> None:
        """Remove a value, or all of an owner."""
        with log_errors("A note could not be removed"):
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
            await self._redis.srem(self._keys.noted(kind), owner_name(origin))

    async def list_values(self, owners: Collection[Owner]) -> dict[Owner, Sequence[SideValue]]:
        """Return the values of those owners that have any."""
        with log_errors("Notes cannot be read"):
            async with self._redis.pipeline(transaction=False) as pipeline:
                for owner in owners:
                    pipeline.hgetall(self._places(owner)[0])
                found = await pipeline.execute()
        notes = {owner: _values(fields) for owner, fields in zip(owners, found, strict=True)}
        return {owner: some for owner, some in notes.items() if some}

    async def list_owners(self, space: str) -> Sequence[Origin]:
        """Return the sessions that have, or had, a value in a space."""
        with log_errors("Notes cannot be read"):
            names: Any = await self._redis.smembers(self._keys.noted(space))
        return [session_named(name.decode()) for name in sorted(names)]

    def _places(self, owner: Owner) -> tuple[str, ...]:
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
        with log_errors("Pieces cannot be read"):
            for start in range(0, len(names), _AT_ONCE):
                values += await self._redis.hmget(key, list(names[start : start + _AT_ONCE]))
        return {name: value for name, value in zip(names, values, strict=True) if value is not None}

    async def add_texts(
        self, run: RunId, origin: Origin, new: Mapping[bytes, bytes]
    ) -> dict[bytes, int]:
        """Store texts; return their numbers, without those beyond the limit. Raise `Gone`."""
        with log_errors("Pieces could not be stored"):
            if not await self._redis.exists(self._keys.run(run).head):
                raise trimmed(run)
            last = int(await self._redis.incrby(self._keys.piece, len(new)))
            arguments: list[Any] = [SESSION_BYTES]
            for number, (digest, payload) in enumerate(new.items(), last - len(new) + 1):
                arguments += (digest, number, payload)
            keys = self._keys.pieces(origin)
            numbers = await self._add.call(self._redis, keys, arguments)
        return {digest: number for digest, number in zip(new, numbers, strict=True) if number}


def _values(fields: dict[bytes, bytes]) -> list[SideValue]:
    found = []
    for field, stored in fields.items():
        time, text = _decode_value(stored)
        found.append(SideValue(*_decode_field(field), time, bytes(text)))
    return by_space_and_key(found)


# --------------------------------------------------------------------------- short lived values

# An expiring store in Redis: keys with a time to live, taken with GETDEL (Redis 6.2).


class RedisShortLivedValues:
    """An `ShortLivedValues`."""

    def __init__(self, url: str, *, prefix: str = DEFAULT_PREFIX) -> None:
        self._redis = asking(url)
        self._keys = Keys(prefix)

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def put(self, name: str, value: bytes, seconds: float) -> None:
        """Store a value."""
        with log_errors("Shared data cannot be written to Redis"):
            await self._redis.set(self._keys.expiring(name), value, px=int(seconds * 1000))

    async def take(self, name: str) -> bytes | None:
        """Remove a value and return it."""
        with log_errors("Shared data cannot be read from Redis"):
            found = await self._redis.getdel(self._keys.expiring(name))
        return cast("bytes | None", found)  # what is not decoded is bytes


# --------------------------------------------------------------------------- usage counters

# Usage counters in Redis. Each operation is one script, so that two callers at once are counted one after
# the other.
#
# The keys of one caller share a hash tag. All of them expire.

_ANSWER = 1.0
"""Seconds for an answer: a request waits for it."""

_BUCKET = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function level(key, rate, size)
  local was = redis.call('HMGET', key, 'level', 'time')
  if not was[1] then return size end
  return math.min(size, tonumber(was[1]) + (now - tonumber(was[2])) / 1000 * rate)
end
local function note(key, rate, size, left)
  redis.call('HSET', key, 'level', tostring(left), 'time', now)
  redis.call('PEXPIRE', key, math.ceil((size - left) / rate * 1000) + 1000)
end
"""

ENTER = (
    _BUCKET
    + """
-- KEYS open, rate, bytes; ARGV member, milliseconds, most open, rate, burst, bytes
local most, rate, burst, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if most > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now)
  if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= most then
    return {'open', 0}
  end
end
if bytes > 0 then
  local left = level(KEYS[3], bytes, bytes)
  if left < 0 then return {'bytes', math.ceil(-left / bytes * 1000)} end
end
if rate > 0 then
  local left = level(KEYS[2], rate, burst)
  if left < 1 then return {'rate', math.ceil((1 - left) / rate * 1000)} end
  note(KEYS[2], rate, burst, left - 1)
end
if most > 0 then
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {'', 0}
"""
)

RENEW = (
    _BUCKET
    + """
-- KEYS open; ARGV milliseconds, then members
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
"""
)

USE = (
    _BUCKET
    + """
-- KEYS bytes; ARGV amount, rate
local rate = tonumber(ARGV[2])
local left = level(KEYS[1], rate, rate) - tonumber(ARGV[1])
note(KEYS[1], rate, rate, left)
return math.max(0, math.ceil(-left / rate * 1000))
"""
)

_Answer = TypeVar("_Answer")


class RedisUsageCounters:
    """`UsageCounters` in Redis."""

    def __init__(self, url: str, *, prefix: str = DEFAULT_PREFIX) -> None:
        self._redis = asking(url, answer=_ANSWER)
        self._key = Keys(prefix).count
        self._enter, self._renew, self._use = Script(ENTER), Script(RENEW), Script(USE)

    async def open(self) -> None:
        """Do nothing: the first operation connects."""

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    async def enter(self, wanted: Member, allowed: UsageLimits) -> LimitCheck:
        """Count something that opens, if it is within the limits."""
        keys = tuple(self._key(wanted.name, part) for part in (wanted.kind, "rate", "bytes"))
        bounds = [allowed.open, allowed.rate, allowed.burst, allowed.bytes]
        arguments = [wanted.member, int(SECONDS * 1000), *bounds]
        answer: Any = await _asked(self._enter.call(self._redis, keys, arguments))
        return LimitCheck(answer[0].decode(), int(answer[1]) / 1000)

    async def renew(self, members: Iterable[Member]) -> None:
        """Keep things counted as open."""
        keyed = sorted((self._key(each.name, each.kind), each.member) for each in members)
        for key, group in groupby(keyed, key=itemgetter(0)):
            arguments = [int(SECONDS * 1000), *(member for _, member in group)]
            await _asked(self._renew.call(self._redis, (key,), arguments))

    async def leave(self, member: Member) -> None:
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
