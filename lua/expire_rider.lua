#!lua
-- expire_rider: check whether an online rider is still reachable, once its check is due.
--
-- Safe to repeat, from several gateways at the same time. A rider without a heartbeat for reach_ms is unreachable and leaves
-- the pool; it stays online, because that is what it declared. Without a task it is set offline after offline_ms (reason
-- `expired`). With a task it is never set offline: the change is published as `unreachable_with_task`, and the next check
-- is due when its last task is released. Until then its score in `due` is inf.
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
-- ARGV[3]  reach_ms               ms after a heartbeat for which a rider counts as reachable, 1 to 86,400,000
-- ARGV[4]  offline_ms             ms after a heartbeat at which a rider without a task is set offline, reach_ms to
--                                 1,000,000,000
-- Errors   'ERR expire_rider: ...' on a bad argument; nothing is written.
-- Returns  {1, version} unreachable   {2, version, job, ...} unreachable, with these tasks   {3, version} offline
--          {0} nothing to do: it sent a heartbeat in time, is not online, or is not in the zone
-- Cost     O(log riders + tasks), plus one SPUBLISH when something changed

if #KEYS ~= 6 or #ARGV ~= 4 then
  return redis.error_reply('ERR expire_rider: takes 6 keys and 4 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider = ARGV[1], ARGV[2]
local reach, limit = tonumber(ARGV[3]), tonumber(ARGV[4])
if not is_name(zone) then
  return redis.error_reply('ERR expire_rider: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR expire_rider: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not reach or reach % 1 ~= 0 or reach < 1 or reach > 86400000 then
  return redis.error_reply('ERR expire_rider: reach_ms must be 1 to 86400000')
end
if not limit or limit % 1 ~= 0 or limit < reach or limit > 1000000000 then
  return redis.error_reply('ERR expire_rider: offline_ms must be reach_ms to 1000000000')
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local actor, request = 'expiry', ''
local record = redis.call('HMGET', KEYS[1],
  'status', 'reachable', 'approved', 'capacity', 'heartbeat', 'device', 'version')
if record[1] ~= 'online' then
  redis.call('ZREM', KEYS[6], rider)
  return {0}
end
local status, reachable, approved, capacity, heartbeat, device, version = unpack(record)
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

if now < heartbeat + reach then
  redis.call('ZADD', KEYS[6], heartbeat + reach, rider)
  return {0}
end
local jobs = redis.call('HKEYS', KEYS[2])
if #jobs > 0 then
  redis.call('ZADD', KEYS[6], '+inf', rider)
  if reachable ~= '1' then return {0} end
  reachable = '0'
  return {2, apply_change('unreachable_with_task', '', ''), unpack(jobs)}
end
if reachable == '1' then
  reachable = '0'
  redis.call('ZADD', KEYS[6], heartbeat + limit, rider)
  return {1, apply_change('unreachable', '', '')}
end
if now < heartbeat + limit then
  redis.call('ZADD', KEYS[6], heartbeat + limit, rider)
  return {0}
end
status = 'offline'
redis.call('ZREM', KEYS[6], rider)
redis.call('HSET', KEYS[1], 'status_at', string.format('%.0f', now), 'reason', 'expired')
return {3, apply_change('offline', '', 'expired')}
