#!lua
-- place_rider: where a rider of a zone is, for finding the nearest; never the arbiter of who gets a task.
--
-- What is older than its lifetime is swept by whoever comes next, ten at a time, and all of it is gone when nobody
-- comes.
--
-- Role     live
-- KEYS[1]  riders:{<zone>}:geo             geo      where riders are
-- KEYS[2]  riders:{<zone>}:seen            zset     when each of them was there, ms
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  longitude              degrees, -180 to 180
-- ARGV[3]  latitude               degrees, -85.05112878 to 85.05112878, what a geo key holds
-- ARGV[4]  lifetime_ms            ms for which the place counts, 1 to 86,400,000
-- Errors   'ERR place_rider: ...' on a bad argument; nothing is written.
-- Returns  {1, swept} placed, and so many others were swept
-- Cost     O(log riders)

if #KEYS ~= 2 or #ARGV ~= 4 then
  return redis.error_reply('ERR place_rider: takes 2 keys and 4 arguments')
end
local rider, longitude, latitude = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lifetime = tonumber(ARGV[4])
if #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR place_rider: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
-- Written so that what is no number (nan) is refused too.
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
