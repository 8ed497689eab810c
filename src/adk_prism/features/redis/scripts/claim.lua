-- KEYS lease, head; ARGV token, milliseconds
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local was = redis.call('HMGET', KEYS[2], 'epoch', 'outcome')
if not was[1] or was[2] ~= '' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('HINCRBY', KEYS[2], 'epoch', 1)
