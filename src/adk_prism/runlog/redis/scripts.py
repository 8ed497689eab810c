"""Lua scripts of a run log and its leases: what must be atomic in Redis, and how it is called.

A script makes all its changes or none: it checks first, and a Redis that is full refuses the first write of a
script, never a later one. A script uses the keys of one run only.
"""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

APPEND = """
-- KEYS head, entries, tombstone
-- ARGV epoch, cursor of the first entry, batch, channel, then fields of the head: count and pairs, then
--      entries: kind, time, payload
if redis.call('EXISTS', KEYS[3]) == 1 then return {'gone'} end
local was = redis.call('HMGET', KEYS[1], 'cursor', 'epoch', 'outcome', 'batch')
local first = tonumber(ARGV[2])
if was[1] then
  if tonumber(was[2]) > tonumber(ARGV[1]) then return {'fenced', was[2]} end
  if was[4] == ARGV[3] then return {'ok'} end
  if was[3] ~= '' then return {'ended'} end
  if tonumber(was[1]) + 1 ~= first then return {'moved', was[1]} end
elseif first ~= 1 then return {'unknown'} end
local fields = tonumber(ARGV[5])
local cursor = first
for at = 6 + 2 * fields, #ARGV, 3 do
  redis.call('XADD', KEYS[2], cursor .. '-1', 'k', ARGV[at], 't', ARGV[at + 1], 'd', ARGV[at + 2])
  cursor = cursor + 1
end
redis.call('HSET', KEYS[1], 'cursor', cursor - 1, 'epoch', ARGV[1], 'batch', ARGV[3],
           unpack(ARGV, 6, 5 + 2 * fields))
redis.call('PUBLISH', ARGV[4], cursor - 1)
return {'ok'}
"""
"""Adds entries to a run, if it has not ended, the writer owns it and nothing was written in between. A batch
that was added before is *ok*: its writer lost the first answer."""

REMOVE = """
-- KEYS head, entries, tombstone, digest, notes
-- ARGV seconds the tombstone stays, channel, 1 if only an ended run may go
if ARGV[3] == '1' then
  local outcome = redis.call('HGET', KEYS[1], 'outcome')
  if not outcome or outcome == '' then return 0 end
end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[4], KEYS[5])
redis.call('SET', KEYS[3], '1', 'EX', ARGV[1])
redis.call('PUBLISH', ARGV[2], 'gone')
return 1
"""
"""Removes a run and leaves a tombstone; also for a run whose start is still on its way."""

PUT_PIECES = """
-- KEYS numbers, pieces; ARGV size that all may have, then pieces: digest, number, payload
local size = tonumber(redis.call('HGET', KEYS[1], 'bytes') or '0')
local numbers = {}
for at = 2, #ARGV, 3 do
  local number = redis.call('HGET', KEYS[1], ARGV[at])
  if not number and size + #ARGV[at + 2] <= tonumber(ARGV[1]) then
    number = ARGV[at + 1]
    size = size + #ARGV[at + 2]
    redis.call('HSET', KEYS[1], ARGV[at], number, 'bytes', size)
    redis.call('HSET', KEYS[2], number, ARGV[at + 2])
  end
  numbers[#numbers + 1] = tonumber(number or '0')
end
return numbers
"""
"""Adds pieces to a session, unless it has them; returns their numbers, 0 for those beyond the limit."""

PUT_NOTE = """
-- KEYS notes, then the head of the run whose notes they are; ARGV field, value, how many there may be
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 'ok'
"""
"""Stores a note of a run, or of a session."""

INDEX = """
-- KEYS head, entries, tombstone, digest; ARGV digest
local was = redis.call('HMGET', KEYS[1], 'outcome', 'number')
if not was[1] or was[1] == '' then return 0 end
redis.call('SET', KEYS[4], ARGV[1])
return was[2]
"""
"""Stores the digest of a run that has ended and is still there; returns the run's number."""

CLAIM = """
-- KEYS lease, head; ARGV token, milliseconds
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local was = redis.call('HMGET', KEYS[2], 'epoch', 'outcome')
if not was[1] or was[2] ~= '' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('HINCRBY', KEYS[2], 'epoch', 1)
"""
"""Takes a run without an owner. With the new epoch, appends of the previous owner are refused."""

RENEW = """
-- KEYS lease, head of its run or the lease again; ARGV token, milliseconds, epoch or nothing
local was = redis.call('GET', KEYS[1])
if was == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
if was then return 0 end
if ARGV[3] ~= '' then
  local epoch = redis.call('HGET', KEYS[2], 'epoch')
  if epoch and epoch ~= ARGV[3] then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
"""Renews a lease. One that has expired is taken again, if no other process had it in between."""

RELEASE = """
-- KEYS lease; ARGV token, channel, word
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
"""
"""Releases a lease, and publishes that for waiting processes."""


class Script:
    """A script that is cached in Redis, and loaded again when Redis has lost it (a restart)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._digest = ""

    async def ready(self, redis: Redis) -> None:
        """Load the script into Redis."""
        self._digest = await redis.script_load(self._text)

    def queue(self, pipeline: Any, keys: tuple[str, ...], arguments: list[Any]) -> None:
        """Add a call to a pipeline; `NoScriptError` there means `ready` again."""
        # By name: redis-py's pipelines of clusters have no method for it, as keys could be in several slots.
        pipeline.execute_command("EVALSHA", self._digest, len(keys), *keys, *arguments)

    async def call(self, redis: Redis, keys: tuple[str, ...], arguments: list[Any]) -> Any:
        """Run it alone."""
        try:
            return await redis.evalsha(self._digest, len(keys), *keys, *arguments)
        except NoScriptError:
            await self.ready(redis)
            return await redis.evalsha(self._digest, len(keys), *keys, *arguments)
