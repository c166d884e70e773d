#!lua
-- forget_events: remove the events of an erased job that wait for a webhook.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}                     hash     the webhook
-- KEYS[2]  webhook:{<id>}:due                 zset     jobs and riders with waiting events, by the next attempt
-- KEYS[3]  webhook:{<id>}:attempts            hash     failed attempts of the first waiting event of each
-- KEYS[4]  webhook:{<id>}:waiting:<subject>   list     deleted
-- ARGV[1]  subject                the job, 1 to 64 of [A-Za-z0-9_-]
-- Errors   'ERR forget_events: ...' on a bad argument; nothing is written.
-- Returns  {1, forgotten}
-- Cost     O(events of the job that wait)

if #KEYS ~= 4 or #ARGV ~= 1 then
  return redis.error_reply('ERR forget_events: takes 4 keys and 1 arguments')
end
local subject = ARGV[1]
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR forget_events: subject must be 1 to 64 of [A-Za-z0-9_-]')
end

local forgotten = redis.call('LLEN', KEYS[4])
redis.call('DEL', KEYS[4])
redis.call('ZREM', KEYS[2], subject)
redis.call('HDEL', KEYS[3], subject)
if forgotten > 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  local waiting = tonumber(redis.call('HGET', KEYS[1], 'waiting') or '0') or 0
  redis.call('HSET', KEYS[1], 'waiting', math.max(0, waiting - forgotten))
end
return {1, forgotten}
