#!lua
-- replay_event: queue an event again that could not be delivered to a webhook.
--
-- It waits behind the events of the same job or rider that already wait, and gets all its attempts again.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}                     hash     the webhook
-- KEYS[2]  webhook:{<id>}:due                 zset     jobs and riders with waiting events, by the next attempt
-- KEYS[3]  webhook:{<id>}:waiting:<subject>   list     its waiting events, oldest first
-- KEYS[4]  webhook:{<id>}:dead                stream   events that could not be delivered
-- ARGV[1]  entry                  id of the entry in the stream, <ms>-<n>
-- ARGV[2]  subject                job or rider, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  due                    when to deliver it, ms since the epoch, 13 digits
-- Errors   'ERR replay_event: ...' on a bad argument; nothing is written.
-- Returns  {1, waiting} queued   {0} there is no such webhook or no such entry of this subject
-- Cost     O(1)

if #KEYS ~= 4 or #ARGV ~= 3 then
  return redis.error_reply('ERR replay_event: takes 4 keys and 3 arguments')
end
local entry, subject, due = ARGV[1], ARGV[2], ARGV[3]
if #entry > 41 or not string.match(entry, '^%d+%-%d+$') then
  return redis.error_reply('ERR replay_event: entry must be <ms>-<n>')
end
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR replay_event: subject must be 1 to 64 of [A-Za-z0-9_-]')
end
if not string.match(due, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply('ERR replay_event: due must be ms since the epoch, 13 digits')
end

local found = redis.call('XRANGE', KEYS[4], entry, entry)[1]
if not found or redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
local field = {}
for i = 1, #found[2], 2 do field[found[2][i]] = found[2][i + 1] end
if field.subject ~= subject or not field.event then return {0} end
if redis.call('RPUSH', KEYS[3], field.event) == 1 then redis.call('ZADD', KEYS[2], due, subject) end
redis.call('XDEL', KEYS[4], entry)
local waiting = (tonumber(redis.call('HGET', KEYS[1], 'waiting') or '0') or 0) + 1
redis.call('HSET', KEYS[1], 'waiting', waiting)
return {1, waiting}
