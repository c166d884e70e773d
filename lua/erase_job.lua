#!lua
-- erase_job: delete everything that the ledger stores about a job: its record, its log and the list of its links.
--
-- Only the fence stays, for some minutes and without anything about the job: an open_feed of the erased job that is still on
-- its way must not open the feed of a job that is created with the same id. All other scripts treat such a record as missing.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record; afterwards only fence
-- KEYS[2]  job:{<job>}:log        stream   deleted
-- KEYS[3]  job:{<job>}:links      zset     deleted
-- KEYS[4]  job:{<job>}:events     channel  {"type":"erased"}: the job no longer exists
-- ARGV[1]  epoch                  of the record as the caller read it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  fence                  of the record as the caller read it, 1 to 15 digits
-- ARGV[3]  fence_ms               ms for which the fence stays, 1 to 1,000,000,000,000
-- Errors   'ERR erase_job: ...' on a bad argument; nothing is written.
-- Returns  {1, keys} erased; `keys` keys were deleted   {0} no such job   {-1} the job has changed: read the record again
-- Cost     O(log entries + links) plus one SPUBLISH

if #KEYS ~= 4 or #ARGV ~= 3 then
  return redis.error_reply('ERR erase_job: takes 4 keys and 3 arguments')
end
local epoch, expected, lifetime = ARGV[1], ARGV[2], tonumber(ARGV[3])
if #epoch > 64 or not string.match(epoch, '^[%w_-]+$') then
  return redis.error_reply('ERR erase_job: epoch must be 1 to 64 of [A-Za-z0-9_-]')
end
if #expected > 15 or not string.match(expected, '^%d+$') then
  return redis.error_reply('ERR erase_job: fence must be 1 to 15 digits')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 1e12 then
  return redis.error_reply('ERR erase_job: fence_ms must be 1 to 1000000000000')
end

local record = redis.call('HMGET', KEYS[1], 'epoch', 'fence')
if not record[1] then return {0} end
if record[1] ~= epoch or tonumber(record[2] or '0') ~= tonumber(expected) then return {-1} end
local keys = redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'fence', string.format('%.0f', tonumber(expected) + 1))
redis.call('PEXPIRE', KEYS[1], lifetime)
redis.call('SPUBLISH', KEYS[4], '{"type":"erased"}')
return {1, keys}
