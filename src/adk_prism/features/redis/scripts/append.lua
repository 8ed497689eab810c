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
