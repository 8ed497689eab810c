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
