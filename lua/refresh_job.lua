#!lua
-- refresh_job: make the followers of a job read it again, because the card of its rider has changed.
--
-- The card is stored with the rider's zone, in another slot than the job. The job's record contains only the version of
-- the card that its followers were notified of. Safe to repeat: each version is published once.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:events     channel  {"type":"assigned"}: the job must be read again
-- ARGV[1]  rider                  whose card it is, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  version                version of the card, 1 to 16 digits
-- Errors   'ERR refresh_job: ...' on a bad argument; nothing is written.
-- Returns  {1} published   {2} already known, nothing is published   {0} no such job, or not this rider's
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR refresh_job: takes 2 keys and 2 arguments')
end
local rider, version = ARGV[1], ARGV[2]
if #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR refresh_job: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if #version > 16 or not string.match(version, '^%d+$') then
  return redis.error_reply('ERR refresh_job: version must be 1 to 16 digits')
end

local record = redis.call('HMGET', KEYS[1], 'status', 'rider', 'card', 'revision')
if not record[1] or record[2] ~= rider then return {0} end
local known = rider .. ':' .. version
if record[3] == known then return {2} end
redis.call('HSET', KEYS[1], 'card', known,
  'revision', string.format('%.0f', (tonumber(record[4] or '0') or 0) + 1))
redis.call('SPUBLISH', KEYS[2], '{"type":"assigned"}')
return {1}
