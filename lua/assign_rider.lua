#!lua
-- assign_rider: assign a task to a rider who may have it. This script makes the final decision.
--
-- Whatever a pool or a map showed before, the rider must now be online, approved, below capacity and reachable. The
-- clock decides who is reachable: a rider without a heartbeat for reach_ms gets no new task, whether or not a sweep has
-- noticed. No other rider of this zone may have the task. Assigning a task to the rider who already has it changes
-- nothing.
--
-- To hand a task over, the caller names the rider who has it now. The task then counts for both riders until it is
-- released for the first one, so it always belongs to at least one rider. If a hand-over is not completed, assigning
-- the task to the first rider again makes that rider its owner.
--
-- A rider may have got the job before it entered the zone. The caller then names that rider as the one who has it. The
-- rider must be online, but approval, capacity and reachability do not matter, because the job is already the rider's.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>          hash     the record
-- KEYS[2]  rider:{<zone>}:<rider>:tasks    hash     active task -> its state
-- KEYS[3]  riders:{<zone>}:available       zset     the pool of available riders, by heartbeat, ms
-- KEYS[4]  riders:{<zone>}:audit           stream   every change, trimmed to about 100,000
-- KEYS[5]  riders:{<zone>}:changes         channel  the same changes, as messages
-- KEYS[6]  request:{<zone>}:<rider>:<id>   string   the reply to this request id, for 24 h; a refusal, for 10 min
-- KEYS[7]  riders:{<zone>}:tasks           hash     active task -> its rider
-- ARGV[1]  zone                   1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  actor                  who requests the change, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[4]  request                id of the request, 0 to 128 printable characters; '' for none
-- ARGV[5]  job                    1 to 64 of [A-Za-z0-9_-]
-- ARGV[6]  reach_ms               ms after a heartbeat for which a rider counts as reachable, 1 to 86,400,000
-- ARGV[7]  instead_of             rider who has the task now and hands it over, or the rider itself if it had the job
--                                 before it entered the zone: 1 to 64 of [A-Za-z0-9_-]; '' for none
-- ARGV[8]  state                  of a task that is new: accepted | arrived_at_store | picked_up | in_transit
-- Errors   'ERR assign_rider: ...' on a bad argument; nothing is written. The same when KEYS[1] holds malformed
--          data.
-- Returns  {1, version} assigned   {2, version} already their task   {0} no such rider in the zone
--          {-1, version} offline   {-2, version} not approved   {-3, version} unreachable
--          {-4, job, ...} at capacity, with these tasks   {-5, rider} the task belongs to this rider
--          {-9} the request id was used for a different call
-- Cost     O(log riders + tasks) plus one SPUBLISH

if #KEYS ~= 7 or #ARGV ~= 8 then
  return redis.error_reply('ERR assign_rider: takes 7 keys and 8 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, actor, request, job = unpack(ARGV, 1, 5)
local reach, instead_of, state = tonumber(ARGV[6]), ARGV[7], ARGV[8]
if not is_name(zone) then
  return redis.error_reply('ERR assign_rider: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR assign_rider: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(actor) then
  return redis.error_reply('ERR assign_rider: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR assign_rider: request must be 0 to 128 printable characters')
end
if not is_name(job) then
  return redis.error_reply('ERR assign_rider: job must be 1 to 64 of [A-Za-z0-9_-]')
end
if not reach or reach % 1 ~= 0 or reach < 1 or reach > 86400000 then
  return redis.error_reply('ERR assign_rider: reach_ms must be 1 to 86400000')
end
if instead_of ~= '' and not is_name(instead_of) then
  return redis.error_reply("ERR assign_rider: instead_of must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if state ~= 'accepted' and state ~= 'arrived_at_store' and state ~= 'picked_up' and state ~= 'in_transit' then
  return redis.error_reply('ERR assign_rider: state must be accepted, arrived_at_store, picked_up or in_transit')
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local fingerprint = table.concat({'assign_rider', rider, job}, ':')
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
  return redis.error_reply('ERR assign_rider: KEYS[1] holds malformed data')
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

local owner = redis.call('HMGET', KEYS[7], job)[1]
if not owner and redis.call('HMGET', KEYS[2], job)[1] then
  redis.call('HSET', KEYS[7], job, rider)
  owner = rider
end
if owner == rider then return reply({2, version}) end
if owner and owner ~= instead_of then return reply({-5, owner}) end
if status ~= 'online' then return reply({-1, version}) end
if instead_of ~= rider then
  if approved ~= '1' then return reply({-2, version}) end
  if reachable ~= '1' or now >= heartbeat + reach then return reply({-3, version}) end
  local jobs = redis.call('HKEYS', KEYS[2])
  if #jobs >= tonumber(capacity) then return reply({-4, unpack(jobs)}) end
end
-- Fails before the first write if a key is of another type.
redis.call('ZSCORE', KEYS[3], rider)
redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
redis.call('HSET', KEYS[2], job, state)
redis.call('HSET', KEYS[7], job, rider)
return reply({1, apply_change('assigned', job, '')})
