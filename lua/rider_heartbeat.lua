#!lua
-- rider_heartbeat: record that a rider is reachable.
--
-- Only a change is published: the rider was unreachable and returns to the pool, if allowed, or another device of the
-- rider takes over. Heartbeats of the previous device no longer count.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>          hash     the record
-- KEYS[2]  rider:{<zone>}:<rider>:tasks    hash     active task -> its state
-- KEYS[3]  riders:{<zone>}:available       zset     the pool of available riders, by heartbeat, ms
-- KEYS[4]  riders:{<zone>}:audit           stream   every change, trimmed to about 100,000
-- KEYS[5]  riders:{<zone>}:changes         channel  the same changes, as messages
-- KEYS[6]  riders:{<zone>}:due             zset     online riders, by the time of their next check, ms
-- ARGV[1]  zone                   1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  device                 the rider's device, 1 to 64 of [A-Za-z0-9_-], or '' when it is unknown
-- ARGV[4]  takes_over             1 when this device has just signed in and becomes the rider's device, else 0
-- ARGV[5]  reach_ms               ms after a heartbeat for which a rider counts as reachable, 1 to 86,400,000
-- Errors   'ERR rider_heartbeat: ...' on a bad argument; nothing is written. The same when KEYS[1] holds malformed
--          data.
-- Returns  {1, version} recorded   {2, version} recorded; the rider is reachable again or changed the device
--          {0} no such rider in the zone   {-1, version} offline: nothing is changed
--          {-2, device} the rider uses this other device: not recorded
-- Cost     O(log riders), plus one SPUBLISH when something changed

if #KEYS ~= 6 or #ARGV ~= 5 then
  return redis.error_reply('ERR rider_heartbeat: takes 6 keys and 5 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, new_device, takes_over = unpack(ARGV, 1, 4)
local reach = tonumber(ARGV[5])
if not is_name(zone) then
  return redis.error_reply('ERR rider_heartbeat: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR rider_heartbeat: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if new_device ~= '' and not is_name(new_device) then
  return redis.error_reply("ERR rider_heartbeat: device must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if takes_over ~= '0' and takes_over ~= '1' then
  return redis.error_reply('ERR rider_heartbeat: takes_over must be 0 or 1')
end
if not reach or reach % 1 ~= 0 or reach < 1 or reach > 86400000 then
  return redis.error_reply('ERR rider_heartbeat: reach_ms must be 1 to 86400000')
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local actor, request = rider, ''
local record = redis.call('HMGET', KEYS[1],
  'status', 'reachable', 'approved', 'capacity', 'heartbeat', 'device', 'version')
if not record[1] then return {0} end
local status, reachable, approved, capacity, heartbeat, device, version = unpack(record)
local is_complete = reachable and approved and heartbeat and device and version
if not is_complete or not string.match(capacity or '', '^%d%d?%d?$') then
  return redis.error_reply('ERR rider_heartbeat: KEYS[1] holds malformed data')
end
-- Identical in every script that changes a rider: derives from the record whether the rider is in the pool, gives the
-- change its version, appends it to the log and publishes it.
local function apply_change(change, job, reason)
  local tasks = redis.call('HLEN', KEYS[2])
  local available = status == 'online' and reachable == '1' and approved == '1' and tasks < tonumber(capacity)
  local last = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1]
  local previous = 0
  if last then
    local ms, rest = string.match(last[1], '^(%d+)%-(%d+)$')
    previous = ms * 1000 + rest
  end
  if available then redis.call('ZADD', KEYS[3], heartbeat, rider) else redis.call('ZREM', KEYS[3], rider) end
  version = string.format('%.0f', math.max(previous + 1, micros))
  local prev, at, draining = string.format('%.0f', previous), string.format('%.0f', now), approved == '0' and tasks > 0
  local id = string.sub(version, 1, -4) .. '-' .. tonumber(string.sub(version, -3))
  redis.call('HSET', KEYS[1], 'status', status, 'reachable', reachable, 'approved', approved, 'capacity', capacity,
    'heartbeat', heartbeat, 'device', device, 'version', version)
  redis.call('XADD', KEYS[4], 'MAXLEN', '~', 100000, id,
    'change', change, 'rider', rider, 'actor', actor, 'device', device, 'request', request, 'reason', reason,
    'job', job, 'status', status, 'reachable', reachable, 'approved', approved, 'tasks', tasks,
    'capacity', capacity, 'available', available and '1' or '0', 'prev', prev)
  redis.call('SPUBLISH', KEYS[5], '{"type":"rider","zone":"' .. zone .. '","version":' .. version .. ',"prev":' .. prev
    .. ',"rider":"' .. rider .. '","change":"' .. change .. '","status":"' .. status
    .. '","reachable":' .. tostring(reachable == '1') .. ',"approved":' .. tostring(approved == '1')
    .. ',"draining":' .. tostring(draining) .. ',"tasks":' .. tasks .. ',"capacity":' .. capacity
    .. ',"available":' .. tostring(available) .. (job ~= '' and ',"job":"' .. job .. '"' or '')
    .. ',"at":' .. at .. '}')
  return version
end

if status ~= 'online' then return {-1, version} end
local is_other = new_device ~= '' and new_device ~= device
if is_other and device ~= '' and takes_over == '0' then return {-2, device} end
-- Fails before the first write if the key is of another type.
redis.call('ZSCORE', KEYS[6], rider)
heartbeat = string.format('%.0f', now)
local is_changed = reachable ~= '1' or is_other
if is_changed then
  local change = reachable == '1' and 'device' or 'reachable'
  reachable = '1'
  if is_other then device = new_device end
  apply_change(change, '', '')
else
  redis.call('ZADD', KEYS[3], 'XX', heartbeat, rider)
  redis.call('HSET', KEYS[1], 'heartbeat', heartbeat)
end
redis.call('ZADD', KEYS[6], now + reach, rider)
return {is_changed and 2 or 1, version}
