#!lua
-- advance_task: move a rider's task from one state to another; the task stays active.
--
-- The caller knows the order of the states and passes those from which the new one may be reached; after a correction of
-- the job, these are later ones too. The script compares them with the current state, so of several concurrent calls only
-- a valid one succeeds.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>          hash     the record
-- KEYS[2]  rider:{<zone>}:<rider>:tasks    hash     active task -> its state
-- KEYS[3]  riders:{<zone>}:available       zset     the pool of available riders, by heartbeat, ms
-- KEYS[4]  riders:{<zone>}:audit           stream   every change, trimmed to about 100,000
-- KEYS[5]  riders:{<zone>}:changes         channel  the same changes, as messages
-- KEYS[6]  request:{<zone>}:<rider>:<id>   string   the reply to this request id, for 24 h; a refusal, for 10 min
-- ARGV[1]  zone                   1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  actor                  who requests the change, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[4]  request                id of the request, 0 to 128 printable characters; '' for none
-- ARGV[5]  job                    1 to 64 of [A-Za-z0-9_-]
-- ARGV[6]  from                   states from which the new state may be reached, joined by commas
-- ARGV[7]  state                  accepted | arrived_at_store | picked_up | in_transit
-- Errors   'ERR advance_task: ...' on a bad argument; nothing is written. The same when KEYS[1] holds malformed
--          data.
-- Returns  {1, version} moved to this state   {2, version} already in it   {0} no such rider, or not their task
--          {-1, state} the task is in this state, from which the new one cannot be reached
--          {-9} the request id was used for a different call
-- Cost     O(log riders) plus one SPUBLISH

if #KEYS ~= 6 or #ARGV ~= 7 then
  return redis.error_reply('ERR advance_task: takes 6 keys and 7 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, actor, request, job, from, state = unpack(ARGV)
if not is_name(zone) then
  return redis.error_reply('ERR advance_task: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR advance_task: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(actor) then
  return redis.error_reply('ERR advance_task: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR advance_task: request must be 0 to 128 printable characters')
end
if not is_name(job) then
  return redis.error_reply('ERR advance_task: job must be 1 to 64 of [A-Za-z0-9_-]')
end
if not string.match(from, '^[a-z_,]*$') then
  return redis.error_reply('ERR advance_task: from must be states joined by commas')
end
if state ~= 'accepted' and state ~= 'arrived_at_store' and state ~= 'picked_up' and state ~= 'in_transit' then
  return redis.error_reply('ERR advance_task: state must be accepted, arrived_at_store, picked_up or in_transit')
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local fingerprint = table.concat({'advance_task', rider, job, state}, ':')
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
if not is_complete or not string.match(capacity or '', '^%d%d?%d?$') or not string.match(heartbeat, '^%d+$') then
  return redis.error_reply('ERR advance_task: KEYS[1] holds malformed data')
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

local current = redis.call('HMGET', KEYS[2], job)[1]
if not current then return {0} end
if current == state then return reply({2, version}) end
if not string.find(',' .. from .. ',', ',' .. current .. ',', 1, true) then return reply({-1, current}) end
apply_change(state, job, '')
redis.call('HSET', KEYS[2], job, state)
return reply({1, version})
