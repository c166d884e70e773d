#!lua
-- publish_eta: keep what was found of a rider's arrival at a job, and tell the job's followers.
--
-- Several gateways may have followers of the job and find something at the same time: whoever comes with nothing better
-- than what the others know says how old what is kept must be, and is passed over when it is younger. What is kept
-- carries the fence of the travel mode it is for, so that nothing of another rider's is read.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> <rider>'; without a rider when travel mode is off
-- KEYS[2]  job:{<job>}:eta        string   '<fence> <written_ms> <message>', never kept beyond the deadline
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  message                what the followers are told, a JSON object
-- ARGV[3]  lifetime_ms            ms it is kept, 1 to 86,400,000
-- ARGV[4]  least_age_ms           what is kept stands when it is younger, 0 to 86,400,000
-- Errors   'ERR publish_eta: ...' on a bad argument; nothing is written. The same when KEYS[1] is not ours.
-- Returns  {1} kept and told   {0, age_ms} what is kept is younger
--          {-1} the rider does not share its position for the job
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR publish_eta: takes 3 keys and 4 arguments')
end
local rider, message = ARGV[1], ARGV[2]
local lifetime, least = tonumber(ARGV[3]), tonumber(ARGV[4])
if #rider == 0 or #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR publish_eta: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if string.byte(message) ~= 123 or string.byte(message, -1) ~= 125 then
  return redis.error_reply('ERR publish_eta: message must be a JSON object')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR publish_eta: lifetime_ms must be 1 to 86400000')
end
if not least or least % 1 ~= 0 or least < 0 or least > 86400000 then
  return redis.error_reply('ERR publish_eta: least_age_ms must be 0 to 86400000')
end

local known = redis.call('GET', KEYS[1])
if not known then return {-1} end
local fence, deadline, owner = string.match(known, '^(%d+) (%d+) (.*)$')
if not owner or #deadline > 13 then return redis.error_reply('ERR publish_eta: KEYS[1] is not ours') end
if owner ~= rider then return {-1} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = tonumber(deadline) - now
if left <= 0 then return {-1} end

local kept = redis.call('GET', KEYS[2])
if kept then
  -- What is not ours is nobody's answer.
  local its_fence, written = string.match(kept, '^(%d+) (%d+) ')
  -- A clock that went back makes nothing younger than it is.
  local age = math.max(0, now - tonumber(written or '0'))
  if its_fence == fence and age < least then return {0, age} end
end
redis.call('SET', KEYS[2], fence .. ' ' .. string.format('%.0f', now) .. ' ' .. message, 'PX', math.min(lifetime, left))
redis.call('SPUBLISH', KEYS[3], message)
return {1}
