#!lua flags=allow-oom
-- close_feed: the job's positions end, the last one and the arrival time are gone at once; its followers are told why.
--
-- The live half of switching travel mode off, of arrival, of the job's end, of its time limit and of giving it to
-- somebody else. It runs before the ledger is told, so that a failure in between leaves too little visible, never too
-- much. What stays is a word without a rider: closed is not the same as forgotten, and only what was forgotten is opened
-- again by itself. With the job's end nothing of it is needed any longer: the word stays for a minute, for an open_feed
-- that is on its way, and what was noted of the rider's readings is deleted.
--
-- A full instance does it too (allow-oom): it erases more than it writes.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> ' as long as before; '<fence> 0 ' for a minute when
--                                          nothing was known, or when the job has ended
-- KEYS[2]  job:{<job>}:position   string   deleted
-- KEYS[3]  job:{<job>}:feed       channel
-- KEYS[4]  job:{<job>}:eta        string   deleted
-- KEYS[5]  job:{<job>}:verdicts   hash     deleted when the job has ended
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-], only this rider's feed is closed; '' for whoever shares
-- ARGV[2]  message                what the followers are told, a JSON object
-- ARGV[3]  fence                  decisions below it open nothing any more, 1 to 15 digits; '' to leave it as it is
-- ARGV[4]  deadline               only a feed with this deadline, and only once it has passed, ms since the epoch, 13
--                                 digits; '' for any
-- ARGV[5]  ended                  1 when the job has ended, 0 when only its positions end
-- Errors   'ERR close_feed: ...' on a bad argument; nothing is written.
-- Returns  {1, keys, now_ms} closed, that many keys erased   {0} nothing was open, or it has another deadline
--          {-2} another rider shares for this job   {-3, now_ms} the deadline has not passed
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 5 or #ARGV ~= 5 then
  return redis.error_reply('ERR close_feed: takes 5 keys and 5 arguments')
end
local rider, message, fence, limit = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if rider ~= '' and (#rider > 64 or not string.match(rider, '^[%w_-]+$')) then
  return redis.error_reply("ERR close_feed: rider must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if string.byte(message) ~= 123 or string.byte(message, -1) ~= 125 then
  return redis.error_reply('ERR close_feed: message must be a JSON object')
end
if fence ~= '' and (not string.match(fence, '^%d+$') or #fence > 15) then
  return redis.error_reply("ERR close_feed: fence must be '' or 1 to 15 digits")
end
if limit ~= '' and not string.match(limit, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR close_feed: deadline must be '' or ms since the epoch, 13 digits")
end
if ARGV[5] ~= '0' and ARGV[5] ~= '1' then
  return redis.error_reply('ERR close_feed: ended must be 0 or 1')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('GET', KEYS[1])
local last, deadline, owner = '0', '0', ''
if known then last, deadline, owner = string.match(known, '^(%d+) (%d+) (.*)$') end
-- What is not ours is closed like what is unknown: nothing may stay visible because of it.
if not last or #last > 15 or #deadline > 13 then last, deadline, owner = '0', '0', '' end
if owner ~= '' and rider ~= '' and owner ~= rider then return {-2} end
if limit ~= '' then
  if owner == '' or deadline ~= limit then return {0} end
  if now < tonumber(limit) then return {-3, now} end
end
if fence ~= '' and tonumber(fence) > tonumber(last) then last = fence end
local erased = redis.call('DEL', KEYS[2], KEYS[4])
if owner ~= '' then erased = erased + 1 end
if ARGV[5] == '1' then
  redis.call('DEL', KEYS[5])
  redis.call('SET', KEYS[1], last .. ' 0 ', 'PX', 60000)
elseif known then
  redis.call('SET', KEYS[1], last .. ' ' .. deadline .. ' ', 'KEEPTTL')
else
  redis.call('SET', KEYS[1], last .. ' 0 ', 'PX', 60000)
end
if erased == 0 then return {0} end
redis.call('SPUBLISH', KEYS[3], message)
return {1, erased, now}
