#!lua
-- stop_travel: record that no rider shares its position for a job.
--
-- close_feed has already closed the live half. The deadline is kept, so starting again does not extend it.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]; '' when the service or operations staff stop it
-- ARGV[2]  retention_ms           ms the record is retained after this change, 1 to 1,000,000,000,000
-- Errors   'ERR stop_travel: ...' on a bad argument; nothing is written.
-- Returns  {1} switched off   {2} was already off   {0} no such job   {-1} not this rider's job
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR stop_travel: takes 1 key and 2 arguments')
end
local rider = ARGV[1]
local retention = tonumber(ARGV[2])
if rider ~= '' and (#rider > 64 or not string.match(rider, '^[%w_-]+$')) then
  return redis.error_reply("ERR stop_travel: rider must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR stop_travel: retention_ms must be 1 to 1000000000000')
end

local record = redis.call('HMGET', KEYS[1], 'rider', 'status', 'travel_active')
if not record[2] then return {0} end
if rider ~= '' and record[1] ~= rider then return {-1} end
if record[3] ~= '1' then return {2} end
redis.call('HSET', KEYS[1], 'travel_active', '0')
redis.call('PEXPIRE', KEYS[1], retention)
return {1}
