#!lua
-- settle_event: record the outcome of an attempt to deliver the first waiting event of a job or rider.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}:lease               string   the gateway that delivers its events
-- KEYS[2]  webhook:{<id>}                     hash     the webhook
-- KEYS[3]  webhook:{<id>}:due                 zset     jobs and riders with waiting events, by the next attempt
-- KEYS[4]  webhook:{<id>}:attempts            hash     failed attempts of the first waiting event of each
-- KEYS[5]  webhook:{<id>}:waiting:<subject>   list     its waiting events, oldest first
-- KEYS[6]  webhook:{<id>}:dead                stream   events that could not be delivered, at most about 10,000
-- ARGV[1]  holder                 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  subject                job or rider, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  event                  the event of the attempt, 1 to 16,384 bytes
-- ARGV[4]  outcome                delivered | retry | dead
-- ARGV[5]  due                    next attempt for the subject, ms since the epoch, 13 digits
-- ARGV[6]  reason                 of a failure, 0 to 200 bytes without control characters
-- Errors   'ERR settle_event: ...' on a bad argument; nothing is written.
-- Returns  {1, left} recorded; `left` events of the subject still wait   {0} it is not the first event of the subject
--          {-1} the caller does not hold the lease
-- Cost     O(1)

if #KEYS ~= 6 or #ARGV ~= 6 then
  return redis.error_reply('ERR settle_event: takes 6 keys and 6 arguments')
end
local holder, subject, event, outcome, due, reason = unpack(ARGV)
if #holder > 64 or not string.match(holder, '^[%w_-]+$') then
  return redis.error_reply('ERR settle_event: holder must be 1 to 64 of [A-Za-z0-9_-]')
end
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR settle_event: subject must be 1 to 64 of [A-Za-z0-9_-]')
end
if event == '' or #event > 16384 then
  return redis.error_reply('ERR settle_event: event must be 1 to 16384 bytes')
end
if outcome ~= 'delivered' and outcome ~= 'retry' and outcome ~= 'dead' then
  return redis.error_reply('ERR settle_event: outcome must be delivered, retry or dead')
end
if not string.match(due, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply('ERR settle_event: due must be ms since the epoch, 13 digits')
end
if #reason > 200 or string.match(reason, '%c') then
  return redis.error_reply('ERR settle_event: reason must be 0 to 200 bytes without control characters')
end

if redis.call('GET', KEYS[1]) ~= holder then return {-1} end
if redis.call('LINDEX', KEYS[5], 0) ~= event then return {0} end
local left = redis.call('LLEN', KEYS[5])
if outcome == 'retry' then
  redis.call('HINCRBY', KEYS[4], subject, 1)
  redis.call('ZADD', KEYS[3], due, subject)
  return {1, left}
end
if outcome == 'dead' then
  local attempts = tonumber(redis.call('HGET', KEYS[4], subject) or '0') or 0
  redis.call('XADD', KEYS[6], 'MAXLEN', '~', 10000, '*', 'subject', subject, 'event', event, 'reason', reason,
    'attempts', attempts + 1)
end
redis.call('LPOP', KEYS[5])
redis.call('HDEL', KEYS[4], subject)
if left > 1 then redis.call('ZADD', KEYS[3], due, subject) else redis.call('ZREM', KEYS[3], subject) end
local waiting = tonumber(redis.call('HGET', KEYS[2], 'waiting') or '0') or 0
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HSET', KEYS[2], 'waiting', math.max(0, waiting - 1)) end
return {1, left - 1}
