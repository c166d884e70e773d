#!lua
-- set_rider_online: record that a rider starts working, as the rider declares; the rider joins the pool, if allowed.
--
-- The declaration holds until the rider changes it, whatever happens to the app or the gateway. The device that sends it
-- becomes the rider's device; if two devices send it, the later one wins. The call also counts as a heartbeat.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>          hash     the record
-- KEYS[2]  rider:{<zone>}:<rider>:tasks    hash     active task -> its state
-- KEYS[3]  riders:{<zone>}:available       zset     the pool of available riders, by heartbeat, ms
-- KEYS[4]  riders:{<zone>}:audit           stream   every change, trimmed to about 100,000
-- KEYS[5]  riders:{<zone>}:changes         channel  the same changes, as messages
-- KEYS[6]  request:{<zone>}:<rider>:<id>   string   the reply to this request id, for 24 h; a refusal, for 10 min
-- KEYS[7]  riders:{<zone>}:due             zset     online riders, by the time of their next check, ms
-- ARGV[1]  zone                   1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  actor                  who requests the change, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[4]  request                id of the request, 0 to 128 printable characters; '' for none
-- ARGV[5]  device                 the rider's device, 1 to 64 of [A-Za-z0-9_-], or '' when it is unknown
-- ARGV[6]  reach_ms               ms after a heartbeat for which a rider counts as reachable, 1 to 86,400,000
-- Errors   'ERR set_rider_online: ...' on a bad argument; nothing is written. The same when KEYS[1] holds
--          malformed data.
-- Returns  {1, version} online   {2, version} already online, nothing changed   {0} no such rider in the zone
--          {-1, version} not approved   {-9} the request id was used for a different call
-- Cost     O(log riders) plus one SPUBLISH

if #KEYS ~= 7 or #ARGV ~= 6 then
  return redis.error_reply('ERR set_rider_online: takes 7 keys and 6 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, actor, request, new_device = unpack(ARGV, 1, 5)
local reach = tonumber(ARGV[6])
if not is_name(zone) then
  return redis.error_reply('ERR set_rider_online: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR set_rider_online: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(actor) then
  return redis.error_reply('ERR set_rider_online: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR set_rider_online: request must be 0 to 128 printable characters')
end
if new_device ~= '' and not is_name(new_device) then
  return redis.error_reply("ERR set_rider_online: device must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if not reach or reach % 1 ~= 0 or reach < 1 or reach > 86400000 then
  return redis.error_reply('ERR set_rider_online: reach_ms must be 1 to 86400000')
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local fingerprint = table.concat({'set_rider_online', rider, new_device}, ':')
-- Each request id is executed once. A repeated request receives the stored reply.
local stored = request ~= '' and redis.call('GET', KEYS[6])
if stored then
  local parts = {}
  for part in string.gmatch(stored, '[^ ]+') do parts[#parts + 1] = part end
  if table.remove(parts, 1) ~= fingerprint then return {-9} end
  -- A write, so that WAIT covers the earlier change, which another connection may have made.
  redis.call('SET', KEYS[6], stored, 'KEEPTTL')
  parts[1] = tonumber(parts[1])
  return parts
end
local function reply(values)
  local text = fingerprint .. ' ' .. table.concat(values, ' ')
  -- The reason for a refusal may end, so the request is executed again after 10 min.
  local lifetime = values[1] < 0 and 600000 or 86400000
  if request ~= '' then redis.call('SET', KEYS[6], text, 'PX', lifetime) end
  return values
end

local record = redis.call('HMGET', KEYS[1],
  'status', 'reachable', 'approved', 'capacity', 'heartbeat', 'device', 'version')
if not record[1] then return {0} end
local status, reachable, approved, capacity, heartbeat, device, version = unpack(record)
local is_complete = reachable and approved and heartbeat and device and version
if not is_complete or not string.match(capacity or '', '^%d%d?%d?$') then
  return redis.error_reply('ERR set_rider_online: KEYS[1] holds malformed data')
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

if approved ~= '1' then return reply({-1, version}) end
-- Fails before the first write if the key is of another type.
redis.call('ZSCORE', KEYS[7], rider)
local was_online = status == 'online'
local is_changed = not was_online or reachable ~= '1' or new_device ~= '' and new_device ~= device
heartbeat = string.format('%.0f', now)
if is_changed then
  status, reachable = 'online', '1'
  if new_device ~= '' then device = new_device end
  apply_change('online', '', '')
else
  redis.call('ZADD', KEYS[3], 'XX', heartbeat, rider)
  redis.call('HSET', KEYS[1], 'heartbeat', heartbeat)
end
redis.call('ZADD', KEYS[7], now + reach, rider)
if not was_online then redis.call('HSET', KEYS[1], 'status_at', heartbeat, 'reason', '') end
return reply({is_changed and 1 or 2, version})
