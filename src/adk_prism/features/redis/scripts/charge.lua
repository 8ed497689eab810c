-- KEYS runs that were charged, then a hash for each account; ARGV run (or ''), seconds to live, then for each
-- account JSON of {amounts, most}, both by name
local changes = {}
for i = 2, #KEYS do changes[i] = cjson.decode(ARGV[i + 1]) end
if ARGV[1] ~= '' and redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return {} end
for i = 2, #KEYS do
  for name, most in pairs(changes[i][2]) do
    if tonumber(redis.call('HGET', KEYS[i], name) or '0') >= most then return {i - 2, name} end
  end
end
if ARGV[1] ~= '' then
  redis.call('SADD', KEYS[1], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
for i = 2, #KEYS do
  for name, amount in pairs(changes[i][1]) do
    if amount ~= 0 then redis.call('HINCRBY', KEYS[i], name, string.format('%.0f', amount)) end
  end
  redis.call('EXPIRE', KEYS[i], ARGV[2])
end
return {}
