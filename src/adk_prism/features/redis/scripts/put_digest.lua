-- KEYS head, entries, tombstone, digest; ARGV digest
local was = redis.call('HMGET', KEYS[1], 'outcome', 'number')
if not was[1] or was[1] == '' then return 0 end
redis.call('SET', KEYS[4], ARGV[1])
return was[2]
