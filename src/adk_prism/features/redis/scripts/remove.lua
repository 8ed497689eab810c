-- KEYS head, entries, tombstone, digest, notes
-- ARGV seconds the tombstone stays, channel, 1 if only an ended run may go
if ARGV[3] == '1' then
  local outcome = redis.call('HGET', KEYS[1], 'outcome')
  if not outcome or outcome == '' then return 0 end
end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[4], KEYS[5])
redis.call('SET', KEYS[3], '1', 'EX', ARGV[1])
redis.call('PUBLISH', ARGV[2], 'gone')
return 1
