#!lua
-- publish_eta: store the estimated arrival of a rider at a job and publish it to the job's followers.
--
-- Several gateways may have followers of the job and calculate its arrival at the same time. A caller whose estimate is no
-- better than the stored one passes the minimum age at which the stored one may be replaced. The stored estimate carries the
-- fence of its travel mode, so an estimate for another rider is never shown.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> <rider>'; without a rider when travel mode is off
-- KEYS[2]  job:{<job>}:eta        string   '<fence> <written_ms> <message>', never stored beyond the deadline
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  message                sent to the followers, a JSON object
-- ARGV[3]  lifetime_ms            ms for which it is stored, 1 to 86,400,000
-- ARGV[4]  min_age_ms             a stored estimate younger than this is not replaced, 0 to 86,400,000
-- Errors   'ERR publish_eta: ...' on a bad argument; nothing is written. The same when KEYS[1] holds malformed data.
-- Returns  {1} stored and published   {0, age_ms} the stored estimate is too young to be replaced
--          {-1} the rider does not share its position for the job
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR publish_eta: takes 3 keys and 4 arguments')
end
local rider, message = ARGV[1], ARGV[2]
local lifetime, min_age = tonumber(ARGV[3]), tonumber(ARGV[4])
if #rider == 0 or #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR publish_eta: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if string.byte(message) ~= 123 or string.byte(message, -1) ~= 125 then
  return redis.error_reply('ERR publish_eta: message must be a JSON object')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR publish_eta: lifetime_ms must be 1 to 86400000')
end
if not min_age or min_age % 1 ~= 0 or min_age < 0 or min_age > 86400000 then
  return redis.error_reply('ERR publish_eta: min_age_ms must be 0 to 86400000')
end

local travel = redis.call('GET', KEYS[1])
if not travel then return {-1} end
local fence, deadline, owner = string.match(travel, '^(%d+) (%d+) (%S*) ?%S*$')
if not owner or #deadline > 13 then return redis.error_reply('ERR publish_eta: KEYS[1] holds malformed data') end
if owner ~= rider then return {-1} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = tonumber(deadline) - now
if left <= 0 then return {-1} end

local stored = redis.pcall('GET', KEYS[2])
-- A malformed entry, including a value of another type, has no fence and is replaced.
if type(stored) == 'string' then
  local stored_fence, written = string.match(stored, '^(%d+) (%d+) ')
  -- If the clock was set back, the age would be negative.
  local age = math.max(0, now - tonumber(written or '0'))
  if stored_fence == fence and age < min_age then return {0, age} end
end
redis.call('SET', KEYS[2], fence .. ' ' .. string.format('%.0f', now) .. ' ' .. message, 'PX', math.min(lifetime, left))
redis.call('SPUBLISH', KEYS[3], message)
return {1}
