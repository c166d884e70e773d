#!lua
-- place_rider: store the place of a rider, for finding the nearest; assign_rider alone decides who gets a task.
--
-- Each call removes up to ten places that are older than their lifetime. When no calls come, the keys expire as a whole.
--
-- Role     live
-- KEYS[1]  riders:{<zone>}:geo             geo      where the riders are
-- KEYS[2]  riders:{<zone>}:seen            zset     when each place was stored, ms
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  longitude              degrees, -180 to 180
-- ARGV[3]  latitude               degrees, -85.05112878 to 85.05112878, the range of a geo key
-- ARGV[4]  lifetime_ms            ms for which a place is valid, 1 to 86,400,000
-- Errors   'ERR place_rider: ...' on a bad argument; nothing is written.
-- Returns  {1, removed} stored, and this many expired places removed
-- Cost     O(log riders)

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR place_rider: takes 2 keys and 4 arguments')
end
local rider, longitude, latitude = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lifetime = tonumber(ARGV[4])
if #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR place_rider: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
-- Written this way so that nan is refused too.
if not longitude or not (longitude >= -180 and longitude <= 180) then
  return redis.error_reply('ERR place_rider: longitude must be -180 to 180')
end
if not latitude or not (latitude >= -85.05112878 and latitude <= 85.05112878) then
  return redis.error_reply('ERR place_rider: latitude must be -85.05112878 to 85.05112878')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR place_rider: lifetime_ms must be 1 to 86400000')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('GEOADD', KEYS[1], ARGV[2], ARGV[3], rider)
redis.call('ZADD', KEYS[2], now, rider)
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - lifetime, 'LIMIT', 0, 10)
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('ZREM', KEYS[2], unpack(old))
end
redis.call('PEXPIRE', KEYS[1], lifetime)
redis.call('PEXPIRE', KEYS[2], lifetime)
return {1, #old}
