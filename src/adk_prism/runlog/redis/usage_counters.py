"""Usage counters in Redis. Each operation is one script, so that two callers at once are counted one after
the other.

The keys of one caller share a hash tag. All of them expire.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from adk_prism.runlog.redis.client import asking
from adk_prism.runlog.redis.keys import DEFAULT_PREFIX, Keys
from adk_prism.runlog.redis.scripts import Script
from adk_prism.runlog.redis.writer import log_errors
from adk_prism.runlog.usage_counters import SECONDS, LimitCheck, Member, UsageLimits

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
