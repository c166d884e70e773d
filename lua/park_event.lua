#!lua
-- park_event: queue an event of a job or rider, because it or an earlier one could not be delivered to a webhook.
--
-- Events of one job or rider wait in order. An event that already waits stays where it is, so the call is safe to repeat.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}:lease               string   the gateway that delivers its events
-- KEYS[2]  webhook:{<id>}                     hash     the webhook
-- KEYS[3]  webhook:{<id>}:due                 zset     jobs and riders with waiting events, by the next attempt
-- KEYS[4]  webhook:{<id>}:attempts            hash     failed attempts of the first waiting event of each
-- KEYS[5]  webhook:{<id>}:waiting:<subject>   list     its waiting events, oldest first
-- ARGV[1]  holder                 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  subject                job or rider, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  attempts               failed attempts of this event, 0 to 100
-- ARGV[4]  due                    next attempt, if no other event of the subject waits, ms since the epoch, 13 digits
-- ARGV[5]  event                  1 to 16,384 bytes
-- ARGV[6]  most                   how many events may wait for the webhook, 1 to 10,000,000
-- Errors   'ERR park_event: ...' on a bad argument; nothing is written.
-- Returns  {1, waiting} queued   {2} it already waits   {0} there is no such webhook   {-1} the caller does not hold the lease
--          {-2, waiting} too many events wait: nothing is written
-- Cost     O(events of the subject that wait)

if #KEYS ~= 5 or #ARGV ~= 6 then
  return redis.error_reply('ERR park_event: takes 5 keys and 6 arguments')
end
local holder, subject, due, event = ARGV[1], ARGV[2], ARGV[4], ARGV[5]
local attempts, most = tonumber(ARGV[3]), tonumber(ARGV[6])
if #holder > 64 or not string.match(holder, '^[%w_-]+$') then
  return redis.error_reply('ERR park_event: holder must be 1 to 64 of [A-Za-z0-9_-]')
end
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR park_event: subject must be 1 to 64 of [A-Za-z0-9_-]')
end
if not attempts or attempts % 1 ~= 0 or attempts < 0 or attempts > 100 then
  return redis.error_reply('ERR park_event: attempts must be 0 to 100')
end
if not string.match(due, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply('ERR park_event: due must be ms since the epoch, 13 digits')
end
if event == '' or #event > 16384 then
  return redis.error_reply('ERR park_event: event must be 1 to 16384 bytes')
end
if not most or most % 1 ~= 0 or most < 1 or most > 10000000 then
  return redis.error_reply('ERR park_event: most must be 1 to 10000000')
end

if redis.call('GET', KEYS[1]) ~= holder then return {-1} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {0} end
if redis.call('LPOS', KEYS[5], event) then return {2} end
local waiting = tonumber(redis.call('HGET', KEYS[2], 'waiting') or '0') or 0
if waiting >= most then return {-2, waiting} end
if redis.call('RPUSH', KEYS[5], event) == 1 then
  redis.call('ZADD', KEYS[3], due, subject)
  redis.call('HSET', KEYS[4], subject, attempts)
end
redis.call('HSET', KEYS[2], 'waiting', waiting + 1)
return {1, waiting + 1}
