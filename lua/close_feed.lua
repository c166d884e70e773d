#!lua flags=allow-oom
-- close_feed: the job's positions end and the last one is gone at once; its followers are told why.
--
-- The live half of switching travel mode off, of arrival and of the job's end. It runs before the ledger is told,
-- so that a failure in between leaves too little visible, never too much. What stays is an empty word: closed is not
-- the same as forgotten, and only what was forgotten is opened again by itself.
--
-- A full instance does it too (allow-oom): it erases more than it writes.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '' until its deadline; a minute when nothing was known
-- KEYS[2]  job:{<job>}:position   string   deleted
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-], only this rider's feed is closed; '' for whoever shares
-- ARGV[2]  message                what the followers are told, a JSON object
-- Errors   'ERR close_feed: ...' on a bad argument; nothing is written.
-- Returns  {1, keys} closed, that many keys erased   {0} nothing was open   {-2} another rider shares for this job
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 2 then
  return redis.error_reply('ERR close_feed: takes 3 keys and 2 arguments')
end
local rider, message = ARGV[1], ARGV[2]
if rider ~= '' and (#rider > 64 or not string.match(rider, '^[%w_-]+$')) then
  return redis.error_reply("ERR close_feed: rider must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if string.byte(message) ~= 123 or string.byte(message, -1) ~= 125 then
  return redis.error_reply('ERR close_feed: message must be a JSON object')
end

local sharing = redis.call('GET', KEYS[1])
if sharing and sharing ~= '' and rider ~= '' and sharing ~= rider then return {-2} end
local erased = redis.call('DEL', KEYS[2])
if not sharing then
  redis.call('SET', KEYS[1], '', 'PX', 60000)
elseif sharing ~= '' then
  redis.call('SET', KEYS[1], '', 'KEEPTTL')
  erased = erased + 1
end
if erased == 0 then return {0} end
redis.call('SPUBLISH', KEYS[3], message)
return {1, erased}
