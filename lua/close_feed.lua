#!lua flags=allow-oom
-- close_feed: stop a job's positions, delete the last one and the arrival time, and notify the followers of the reason.
--
-- Runs when travel mode is switched off, when the rider arrives or reaches the time limit, and when the job ends or is
-- reassigned. It runs before the ledger is changed, so after a failure in between followers see too little, never too much.
-- If the ledger's decision may have raced with another one, it runs again afterwards, with `not_later`.
--
-- An entry without a rider remains, because a closed feed must differ from a lost one: only a lost feed is reopened
-- automatically. When the job has ended, that entry stays for a minute, in case a delayed open_feed still arrives, and the
-- validation results are deleted. When it is reassigned, their counts stay, but what they say about the former rider is
-- deleted: the new rider is not near the destination because the former one was.
--
-- A call that names a rider writes nothing unless that rider has the feed: nobody has checked yet whose job it is. stop_travel
-- does, and then the caller closes the feed again without naming a rider.
--
-- The script also runs on an instance that is full (allow-oom), because it deletes more than it writes.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> ' with its previous lifetime; '<fence> 0 ' for a minute when
--                                          there was no entry or the job has ended
-- KEYS[2]  job:{<job>}:position   string   deleted
-- KEYS[3]  job:{<job>}:feed       channel
-- KEYS[4]  job:{<job>}:eta        string   deleted
-- KEYS[5]  job:{<job>}:verdicts   hash     deleted when the job has ended; only its counts stay when it is reassigned
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]: close only this rider's feed; '' for any rider's
-- ARGV[2]  message                sent to the followers, a JSON object
-- ARGV[3]  fence                  decisions below it can no longer open the feed, 1 to 15 digits; '' to keep the stored one
-- ARGV[4]  deadline               close only a feed with this deadline, and only once it has passed: ms since the epoch, 13
--                                 digits; '' for any
-- ARGV[5]  ended                  1 when the job has ended, 0 when only its positions stop
-- ARGV[6]  not_later              1 to leave the feed open if a decision later than `fence` has opened it; else 0
-- ARGV[7]  reassigned             1 when the job gets another rider or none, else 0
-- Errors   'ERR close_feed: ...' on a bad argument; nothing is written.
-- Returns  {1, keys, now_ms} closed; `keys` keys were cleared   {0} it was not open, or has another deadline
--          {-2} another rider shares their position for this job   {-3, now_ms} the deadline has not passed
--          {-4} with not_later: a later decision has opened the feed
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 5 or #ARGV ~= 7 then
  return redis.error_reply('ERR close_feed: takes 5 keys and 7 arguments')
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
if ARGV[6] ~= '0' and (ARGV[6] ~= '1' or fence == '') then
  return redis.error_reply('ERR close_feed: not_later must be 0, or 1 with a fence')
end
if ARGV[7] ~= '0' and ARGV[7] ~= '1' then
  return redis.error_reply('ERR close_feed: reassigned must be 0 or 1')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- A value of another type is malformed too.
local travel = redis.pcall('GET', KEYS[1])
local last, deadline, owner = '0', '0', ''
if type(travel) == 'table' then travel = 'malformed' end
if travel then last, deadline, owner = string.match(travel, '^(%d+) (%d+) (%S*) ?%S*$') end
-- Malformed data is closed like a missing entry: it must not keep anything visible.
if not last or #last > 15 or #deadline > 13 then last, deadline, owner = '0', '0', '' end
if rider ~= '' and owner ~= rider then return owner == '' and {0} or {-2} end
if limit ~= '' then
  if owner == '' or deadline ~= limit then return {0} end
  if now < tonumber(limit) then return {-3, now} end
end
if ARGV[6] == '1' and tonumber(last) > tonumber(fence) then return {-4} end
if fence ~= '' and tonumber(fence) > tonumber(last) then last = fence end
local erased = redis.call('DEL', KEYS[2], KEYS[4])
if owner ~= '' then erased = erased + 1 end
-- A value of another type is left to expire: it must not keep the feed open.
if ARGV[7] == '1' then
  redis.pcall('HDEL', KEYS[5], 'unavailable', 'proximity', 'stopped', 'seen_at', 'sharing', 'sharing_at')
end
if ARGV[5] == '1' then
  redis.call('DEL', KEYS[5])
  redis.call('SET', KEYS[1], last .. ' 0 ', 'PX', 60000)
elseif travel then
  redis.call('SET', KEYS[1], last .. ' ' .. deadline .. ' ', 'KEEPTTL')
else
  redis.call('SET', KEYS[1], last .. ' 0 ', 'PX', 60000)
end
if erased == 0 then return {0} end
redis.call('SPUBLISH', KEYS[3], message)
return {1, erased, now}
