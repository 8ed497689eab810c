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
