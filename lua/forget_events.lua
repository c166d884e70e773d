#!lua
-- forget_events: remove the events of an erased job that wait for a webhook.
--
-- enroute.job.erased stays, so that other systems are notified of the erasure. Events about a rider with the same id
-- also stay. If the first event is removed, the next one is due now and gets all its attempts.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}                     hash     the webhook
-- KEYS[2]  webhook:{<id>}:due                 zset     jobs and riders with waiting events, by the next attempt
-- KEYS[3]  webhook:{<id>}:attempts            hash     failed attempts of the first waiting event of each
-- KEYS[4]  webhook:{<id>}:waiting:<subject>   list     its waiting events, oldest first
-- ARGV[1]  subject                the job, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  which                  only: remove the events of these records | except: remove those of all other records.
--                                 Both remove events without an epoch
-- ARGV[3]  epochs                 of these records, each 1 to 64 of [A-Za-z0-9_-], separated by spaces, 0 to 259 bytes
-- Errors   'ERR forget_events: ...' on a bad argument; nothing is written.
-- Returns  {1, forgotten}
-- Cost     O(events of the subject that wait)

if #KEYS ~= 4 or #ARGV ~= 3 then
  return redis.error_reply('ERR forget_events: takes 4 keys and 3 arguments')
end
local subject, which, epochs = ARGV[1], ARGV[2], ARGV[3]
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR forget_events: subject must be 1 to 64 of [A-Za-z0-9_-]')
end
if which ~= 'only' and which ~= 'except' then
  return redis.error_reply('ERR forget_events: which must be only or except')
end
local named, are_names = {}, #epochs <= 259 and not string.match(epochs, '[^%w_ -]')
for epoch in string.gmatch(epochs, '[%w_-]+') do
  named[epoch] = true
  are_names = are_names and #epoch <= 64
end
if not are_names then
  return redis.error_reply('ERR forget_events: epochs must be 1 to 64 of [A-Za-z0-9_-], separated by spaces')
end

-- An event is `<id> <body>`. In the body, no text of a client comes before these members.
local function is_erased(event)
  local kind = string.match(event, '"type":"([%w_.]+)"') or ''
  if kind == 'enroute.job.erased' or string.match(kind, '^enroute%.rider%.') then return false end
  local epoch = string.match(event, '"time":"[^"]*","epoch":"([%w_-]+)"')
  return not epoch or (named[epoch] == true) == (which == 'only')
end

local length = redis.pcall('LLEN', KEYS[4])
if type(length) ~= 'number' then
  -- Not a list, so nothing in it can be delivered.
  redis.call('DEL', KEYS[4])
  length = 0
end
local forgotten, is_first_erased = 0, false
for i = 1, length do
  local event = redis.call('LPOP', KEYS[4])
  if is_erased(event) then
    forgotten = forgotten + 1
    is_first_erased = is_first_erased or i == 1
  else
    redis.call('RPUSH', KEYS[4], event)
  end
end

if forgotten == length then
  redis.call('ZREM', KEYS[2], subject)
  redis.call('HDEL', KEYS[3], subject)
elseif is_first_erased then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[2], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), subject)
  redis.call('HDEL', KEYS[3], subject)
end
if forgotten > 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  local waiting = tonumber(redis.call('HGET', KEYS[1], 'waiting') or '0') or 0
  redis.call('HSET', KEYS[1], 'waiting', math.max(0, waiting - forgotten))
end
return {1, forgotten}
