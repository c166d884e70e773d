#!lua
-- remove_rider: remove a rider from a zone, because they leave or move to another one.
--
-- Only possible without a task. To move a rider, remove them here first, then describe them in the other zone, where
-- they start offline.
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
-- ARGV[5]  reason                 shown to people, 0 to 200 bytes without control characters
-- Errors   'ERR remove_rider: ...' on a bad argument; nothing is written.
-- Returns  {1, version} removed   {0} no such rider in the zone   {-1, job, ...} the rider has these tasks
--          {-9} the request id was used for a different call
-- Cost     O(log riders + tasks) plus one SPUBLISH

if #KEYS ~= 7 or #ARGV ~= 5 then
  return redis.error_reply('ERR remove_rider: takes 7 keys and 5 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, actor, request, reason = unpack(ARGV)
if not is_name(zone) then
  return redis.error_reply('ERR remove_rider: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR remove_rider: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(actor) then
  return redis.error_reply('ERR remove_rider: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR remove_rider: request must be 0 to 128 printable characters')
end
if #reason > 200 or string.match(reason, '%c') then
  return redis.error_reply('ERR remove_rider: reason must be 0 to 200 bytes without control characters')
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local fingerprint = 'remove_rider:' .. rider
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

local jobs = redis.call('HKEYS', KEYS[2])
if #jobs > 0 then return reply({-1, unpack(jobs)}) end
-- Fails before the first write if the key is of another type.
redis.call('ZSCORE', KEYS[7], rider)
status, reachable = 'offline', '0'
apply_change('removed', '', reason)
redis.call('ZREM', KEYS[7], rider)
redis.call('DEL', KEYS[1])
return reply({1, version})
