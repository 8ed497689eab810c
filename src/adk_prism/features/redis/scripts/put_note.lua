-- KEYS notes, then the head of the run whose notes they are; ARGV field, value, how many there may be
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 'ok'
