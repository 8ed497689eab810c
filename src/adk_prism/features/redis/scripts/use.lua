-- KEYS bytes; ARGV amount, rate
local rate = tonumber(ARGV[2])
local left = level(KEYS[1], rate, rate) - tonumber(ARGV[1])
note(KEYS[1], rate, rate, left)
return math.max(0, math.ceil(-left / rate * 1000))
