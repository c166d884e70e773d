#!lua
-- publish_location: keep a rider's newest position for a job and tell the job's followers.
--
-- Step 6 of 10 of the hot path. Before: LiveState/Jobs/LocationPublisher.swift
-- Next: Redis/RedisChannelHandler.swift
--
-- The message is '{"type":"location","id":"<16 digits>","at":<13 digits>' .. tail: the script gives the id, the gateway
-- the rest, and the same bytes are stored, published and written to every follower. Because both numbers stand at a
-- fixed place, the stored position needs no parsing. The id is max(previous + 1, Redis TIME in microseconds): it
-- grows through failovers, where a bare counter would issue its numbers again.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> <rider>'; without a rider when travel mode is off
-- KEYS[2]  job:{<job>}:position   string   last published message, never kept beyond the deadline
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  captured_at            ms since the epoch, 13 digits
-- ARGV[3]  tail                   rest of the message: starts with a comma, ends with a closing brace
-- ARGV[4]  lifetime_ms            ms the position is kept after this fix, 1 to 86,400,000
-- Errors   'ERR publish_location: ...' on a bad argument; nothing is written. The same when KEYS[1] is not ours.
-- Returns  {1, id, n} accepted; n connections heard it, 0 when nobody follows   {1, id, n, 1} what was kept was not ours
--          {0, stored_at} not newer than what is kept
--          {-1} travel mode was switched off   {-2} another rider shares for this job
--          {-3, now_ms} captured more than 30 s in the future
--          {-4} nothing is known: travel mode was never on, or this instance lost its memory; the ledger knows which
--          {-5, deadline_ms} the time in which the rider may share its position is over
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR publish_location: takes 3 keys and 4 arguments')
end
local rider, tail = ARGV[1], ARGV[3]
local at, lifetime = tonumber(ARGV[2]), tonumber(ARGV[4])
if #rider == 0 or #rider > 64 then
  return redis.error_reply('ERR publish_location: rider must be 1 to 64 characters')
end
if not at or #ARGV[2] ~= 13 or at < 1e12 or string.find(ARGV[2], '%D') then
  return redis.error_reply('ERR publish_location: captured_at must be ms since the epoch, 13 digits')
end
if string.byte(tail) ~= 44 or string.byte(tail, -1) ~= 125 then
  return redis.error_reply('ERR publish_location: tail must start with a comma and end with a brace')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR publish_location: lifetime_ms must be 1 to 86400000')
end

local known = redis.call('GET', KEYS[1])
if not known then return {-4} end
local deadline, owner = string.match(known, '^%d+ (%d+) (.*)$')
if not owner or #deadline > 13 then return redis.error_reply('ERR publish_location: KEYS[1] is not ours') end
if owner == '' then return {-1} end
if owner ~= rider then return {-2} end

local time = redis.call('TIME')
local id = time[1] * 1000000 + time[2]
local left = tonumber(deadline) - math.floor(id / 1000)
if left <= 0 then return {-5, tonumber(deadline)} end
if at > id / 1000 + 30000 then return {-3, math.floor(id / 1000)} end

local stored = redis.call('GET', KEYS[2])
local foreign = stored and not string.match(stored, '^{"type":"location","id":"%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d","at":%d%d%d%d%d%d%d%d%d%d%d%d%d,')
if stored and not foreign then
  local stored_id, stored_at = tonumber(string.sub(stored, 26, 41)), tonumber(string.sub(stored, 49, 61))
  if at <= stored_at then return {0, stored_at} end
  if id <= stored_id then id = stored_id + 1 end
end

local message = '{"type":"location","id":"' .. string.format('%.0f', id) .. '","at":' .. ARGV[2] .. tail
redis.call('SET', KEYS[2], message, 'PX', math.min(lifetime, left))
local heard = redis.call('SPUBLISH', KEYS[3], message)
return {1, id, heard, foreign and 1 or nil}
