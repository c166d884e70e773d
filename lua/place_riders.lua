#!lua
-- place_riders: store the places of riders of a zone, for finding the nearest; assign_rider alone decides who gets a task.
--
-- A gateway sends the places that changed within two seconds in one call: in a call of 100, a place takes 3.1 us, alone 15.4
-- us (INFO commandstats). Each call removes expired places: up to ten more than it stores. Without further calls, the keys
-- expire.
--
-- Role     live
-- KEYS[1]  riders:{<zone>}:geo             geo      where the riders are
-- KEYS[2]  riders:{<zone>}:seen            zset     when each place was stored, ms
-- ARGV[1]  places                 '<rider> <longitude> <latitude> ...', 1 to 100 riders; a rider is 1 to 64 of
--                                 [A-Za-z0-9_-], degrees are -180 to 180 and -85.05112878 to 85.05112878 (a geo key's range)
-- ARGV[2]  lifetime_ms            ms for which a place is valid, 1 to 86,400,000
-- Errors   'ERR place_riders: ...' on a bad argument; nothing is written.
-- Returns  {n, removed} n places stored, and `removed` expired places removed
-- Cost     O(n log riders)

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR place_riders: takes 2 keys and 2 arguments')
end
local lifetime = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places, seen, count, length = {}, {}, 0, -1
for rider, longitude, latitude in string.gmatch(ARGV[1], '([%w_-]+) ([^ ]+) ([^ ]+)') do
  local east, north = tonumber(longitude), tonumber(latitude)
  -- Every comparison with nan is false, so nan is refused too.
  local is_place = east and north and east >= -180 and east <= 180 and north >= -85.05112878 and north <= 85.05112878
  if #rider > 64 or not is_place then break end
  count, length = count + 1, length + #rider + #longitude + #latitude + 3
  places[3 * count - 2], places[3 * count - 1], places[3 * count] = longitude, latitude, rider
  seen[2 * count - 1], seen[2 * count] = now, rider
end
if count == 0 or count > 100 or length ~= #ARGV[1] then
  return redis.error_reply('ERR place_riders: places must be 1 to 100 of a rider, a longitude and a latitude')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR place_riders: lifetime_ms must be 1 to 86400000')
end

redis.call('GEOADD', KEYS[1], unpack(places))
redis.call('ZADD', KEYS[2], unpack(seen))
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - lifetime, 'LIMIT', 0, 10 + count)
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('ZREM', KEYS[2], unpack(old))
end
redis.call('PEXPIRE', KEYS[1], lifetime)
redis.call('PEXPIRE', KEYS[2], lifetime)
return {count, #old}
