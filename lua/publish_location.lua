#!lua
-- publish_location: store a rider's newest position for a job and publish it to the job's followers.
--
-- Step 6 of 10 of the hot path. Before: LiveState/Jobs/LocationPublisher.swift
-- Next: Redis/RedisChannelHandler.swift
--
-- The message is '{"type":"location","id":"<16 digits>","at":<13 digits>' .. tail. The script adds the id; the gateway sends
-- the rest. The same bytes are stored, published and written to every follower. Both numbers are at a fixed offset, so the
-- stored position needs no parsing. The id is max(previous + 1, Redis TIME in microseconds), so it keeps growing after a
-- failover, where a plain counter would issue the same numbers again.
--
-- One device reports for a trip: the one in KEYS[1]. A device without a name gets one that starts with '~' for as long as its
-- connection lasts. It may replace another device of this kind that is silent or has disconnected (release_feed).
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> <rider> <device>'; without a rider when travel mode is off
-- KEYS[2]  job:{<job>}:position   string   last published message, never stored beyond the deadline
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  device                 1 to 64 characters without a space
-- ARGV[3]  captured_at            ms since the epoch, 13 digits
-- ARGV[4]  tail                   rest of the message: starts with a comma, ends with a closing brace
-- ARGV[5]  lifetime_ms            ms the position is stored after this fix, 1 to 86,400,000
-- Errors   'ERR publish_location: ...' on a bad argument; nothing is written. The same when KEYS[1] holds malformed data.
-- Returns  {1, n, id} accepted; n connections received it, 0 without a follower   {1, n, id, 1} it replaced malformed data
--          {0, stored_at} not newer than the stored position
--          {-1} travel mode was switched off   {-2} another rider shares their position for this job
--          {-3, now_ms} captured more than 30 s in the future
--          {-4} no entry: travel mode was never on, or this instance lost its data; the ledger knows which
--          {-5, deadline_ms} the deadline for sharing has passed
--          {-6} another device of this rider reports for this job
-- Cost     O(1) plus one SPUBLISH. Numbers of equal length are compared as text, which spares Lua most conversions.

if #KEYS ~= 3 or #ARGV ~= 5 then
  return redis.error_reply('ERR publish_location: takes 3 keys and 5 arguments')
end
local rider, device, tail = ARGV[1], ARGV[2], ARGV[4]
local at, lifetime = tonumber(ARGV[3]), tonumber(ARGV[5])
if #rider == 0 or #rider > 64 then
  return redis.error_reply('ERR publish_location: rider must be 1 to 64 characters')
end
if #device == 0 or #device > 64 or string.find(device, ' ', 1, true) then
  return redis.error_reply('ERR publish_location: device must be 1 to 64 characters without a space')
end
if not at or #ARGV[3] ~= 13 or at < 1e12 or string.find(ARGV[3], '%D') then
  return redis.error_reply('ERR publish_location: captured_at must be ms since the epoch, 13 digits')
end
if string.byte(tail) ~= 44 or string.byte(tail, -1) ~= 125 then
  return redis.error_reply('ERR publish_location: tail must start with a comma and end with a brace')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR publish_location: lifetime_ms must be 1 to 86400000')
end

local travel = redis.call('GET', KEYS[1])
if not travel then return {-4} end
local fence, deadline, owner, reporter = string.match(travel, '^(%d+) (%d+) (%S*) ?(%S*)$')
if not owner or #deadline > 13 then return redis.error_reply('ERR publish_location: KEYS[1] holds malformed data') end
if owner == '' then return {-1} end
if owner ~= rider then return {-2} end

local time = redis.call('TIME')
-- 16 digits: seconds and microseconds.
local id = time[1] .. string.sub('00000' .. time[2], -6)
local now = tonumber(string.sub(id, 1, 13))
local left = tonumber(deadline) - now
if left <= 0 then return {-5, tonumber(deadline)} end
if at > now + 30000 then return {-3, now} end

-- A value of another type is malformed too.
local stored = redis.pcall('GET', KEYS[2])
local stored_id, stored_at
if type(stored) == 'string' then
  stored_id, stored_at = string.match(stored, '^{"type":"location","id":"(%d+)","at":(%d+),')
end
local malformed = stored and not (stored_id and #stored_id == 16 and #stored_at == 13)
if reporter ~= device then
  -- An app that comes to the foreground stops its REST requests and opens a connection, so a REST reporter counts as silent
  -- sooner. No device is asked to report less often than every 20 s.
  local silence = reporter == '~rest' and 5000 or 30000
  local is_silent = not stored or malformed or now - tonumber(string.sub(stored_id, 1, 13)) > silence
  local are_nameless = string.byte(device) == 126 and string.byte(reporter) == 126
  local may_go_on = reporter == '' or are_nameless and is_silent
  if not may_go_on then return {-6} end
  redis.call('SET', KEYS[1], fence .. ' ' .. deadline .. ' ' .. owner .. ' ' .. device, 'KEEPTTL')
end
if stored and not malformed then
  if ARGV[3] <= stored_at then return {0, tonumber(stored_at)} end
  if id <= stored_id then id = string.format('%.0f', tonumber(stored_id) + 1) end
end

local message = '{"type":"location","id":"' .. id .. '","at":' .. ARGV[3] .. tail
redis.call('SET', KEYS[2], message, 'PX', left < lifetime and string.format('%.0f', left) or ARGV[5])
local receivers = redis.call('SPUBLISH', KEYS[3], message)
return {1, receivers, id, malformed and 1 or nil}
