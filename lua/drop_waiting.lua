#!lua
-- drop_waiting: remove data that cannot be delivered to a webhook: an entry of `due` without events, or malformed data.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}:lease               string   the gateway that delivers its events
-- KEYS[2]  webhook:{<id>}                     hash     the webhook
-- KEYS[3]  webhook:{<id>}:due                 zset     jobs and riders with waiting events, by the next attempt
-- KEYS[4]  webhook:{<id>}:attempts            hash     failed attempts of the first waiting event of each
-- KEYS[5]  webhook:{<id>}:waiting:<subject>   list     its waiting events, oldest first
-- ARGV[1]  holder                 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  subject                job or rider, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  what                   first: remove the first waiting event | orphan: remove the entry only if no event waits
-- Errors   'ERR drop_waiting: ...' on a bad argument; nothing is written.
-- Returns  {1} something was removed   {0} events wait: nothing was removed   {-1} the caller does not hold the lease
-- Cost     O(1)

if #KEYS ~= 5 or #ARGV ~= 3 then
  return redis.error_reply('ERR drop_waiting: takes 5 keys and 3 arguments')
end
local holder, subject, what = ARGV[1], ARGV[2], ARGV[3]
if #holder > 64 or not string.match(holder, '^[%w_-]+$') then
  return redis.error_reply('ERR drop_waiting: holder must be 1 to 64 of [A-Za-z0-9_-]')
end
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR drop_waiting: subject must be 1 to 64 of [A-Za-z0-9_-]')
end
if what ~= 'first' and what ~= 'orphan' then
  return redis.error_reply('ERR drop_waiting: what must be first or orphan')
end

if redis.call('GET', KEYS[1]) ~= holder then return {-1} end
local left = redis.pcall('LLEN', KEYS[5])
if type(left) == 'number' and left > 0 then
  if what ~= 'first' then return {0} end
  redis.call('LPOP', KEYS[5])
  redis.call('HDEL', KEYS[4], subject)
  local waiting = tonumber(redis.call('HGET', KEYS[2], 'waiting') or '0') or 0
  if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HSET', KEYS[2], 'waiting', math.max(0, waiting - 1)) end
  if left > 1 then return {1} end
end
redis.call('DEL', KEYS[5])
redis.call('HDEL', KEYS[4], subject)
redis.call('ZREM', KEYS[3], subject)
if redis.call('ZCARD', KEYS[3]) == 0 and redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('HSET', KEYS[2], 'waiting', 0)
end
return {1}
