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
