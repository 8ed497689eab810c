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
