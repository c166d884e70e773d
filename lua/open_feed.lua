#!lua
-- open_feed: from now until the deadline one rider may publish positions for a job; its followers are told.
--
-- The live half of switching travel mode on: start_travel decided it on the ledger and fixed the deadline. The key
-- ends at that absolute deadline, so opening again, from any gateway, can not extend it.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   rider who shares its position
-- KEYS[2]  job:{<job>}:position   string   deleted when it is another rider's
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  deadline               ms since the epoch, from start_travel
-- ARGV[3]  message                what the followers are told, a JSON object
-- ARGV[4]  again                  1 only when nothing is known, to make good a lost memory; 0 in any case
-- Errors   'ERR open_feed: ...' on a bad argument; nothing is written.
-- Returns  {1} opened   {2} was open for this rider, nobody is told   {0, now_ms} the deadline has passed
--          {-1} something is known: with `again` nothing is opened
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR open_feed: takes 3 keys and 4 arguments')
end
local rider, message = ARGV[1], ARGV[3]
local deadline = tonumber(ARGV[2])
if #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR open_feed: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not deadline or #ARGV[2] ~= 13 or deadline < 1e12 or string.find(ARGV[2], '%D') then
  return redis.error_reply('ERR open_feed: deadline must be ms since the epoch, 13 digits')
end
if string.byte(message) ~= 123 or string.byte(message, -1) ~= 125 then
  return redis.error_reply('ERR open_feed: message must be a JSON object')
end
if ARGV[4] ~= '0' and ARGV[4] ~= '1' then
  return redis.error_reply('ERR open_feed: again must be 0 or 1')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= deadline then return {0, now} end
local sharing = redis.call('GET', KEYS[1])
if sharing == rider then
  redis.call('PEXPIREAT', KEYS[1], ARGV[2])
  return {2}
end
if sharing and ARGV[4] == '1' then return {-1} end
if sharing then redis.call('DEL', KEYS[2]) end
redis.call('SET', KEYS[1], rider, 'PXAT', ARGV[2])
redis.call('SPUBLISH', KEYS[3], message)
return {1}
