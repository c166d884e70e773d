#!lua
-- describe_rider: set a rider's approval, capacity (tasks at the same time) and card.
--
-- A rider who is new in the zone is added to it, offline. The record has no `joined` yet (finish_joining): jobs that the
-- rider already has are not tasks. A rider whose approval is withdrawn leaves the pool immediately but is not set
-- offline. A rider with tasks is then draining: they finish the tasks and get no new ones.
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
-- ARGV[5]  approved               1 when the rider may work, else 0
-- ARGV[6]  capacity               tasks at the same time, 1 to 100; '' keeps the stored number, which is 1 for a new rider
-- ARGV[7]  card                   what followers of the rider's jobs see, JSON object; '{}' removes it, '' keeps it
-- Errors   'ERR describe_rider: ...' on a bad argument; nothing is written.
-- Returns  {1, version} changed   {2, version} unchanged   {3, version} new in the zone
--          {-9} the request id was used for a different call
-- Cost     O(log riders) plus one SPUBLISH

if #KEYS ~= 6 or #ARGV ~= 7 then
  return redis.error_reply('ERR describe_rider: takes 6 keys and 7 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, actor, request, approved = unpack(ARGV, 1, 5)
local max_tasks, card = tonumber(ARGV[6] == '' and '1' or ARGV[6]), ARGV[7]
if not is_name(zone) then
  return redis.error_reply('ERR describe_rider: zone must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(rider) then
  return redis.error_reply('ERR describe_rider: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(actor) then
  return redis.error_reply('ERR describe_rider: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR describe_rider: request must be 0 to 128 printable characters')
end
if approved ~= '0' and approved ~= '1' then
  return redis.error_reply('ERR describe_rider: approved must be 0 or 1')
end
if not max_tasks or max_tasks % 1 ~= 0 or max_tasks < 1 or max_tasks > 100 then
  return redis.error_reply('ERR describe_rider: capacity must be 1 to 100, or empty')
end
if card ~= '' and not string.match(card, '^{.*}$') then
  return redis.error_reply("ERR describe_rider: card must be '' or a JSON object")
end

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local capacity = ARGV[6] == '' and '' or string.format('%.0f', max_tasks)
local fingerprint = table.concat({'describe_rider', rider, approved, capacity}, ':')
if card ~= '' then fingerprint = fingerprint .. ':' .. redis.sha1hex(card) end
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
local status, reachable, heartbeat = record[1] or 'offline', record[2] or '0', record[5] or '0'
local device, version = record[6] or '', record[7]
if capacity == '' then capacity = record[4] or '1' end
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

local shown = redis.call('HMGET', KEYS[1], 'card')[1] or ''
if card == '' then card = shown elseif card == '{}' then card = '' end
local is_approval = record[3] ~= approved
if not is_approval and record[4] == capacity and card == shown then return reply({2, version}) end
local change = not record[1] and 'created' or not is_approval and 'described'
  or approved == '1' and 'approved' or 'withdrawn'
apply_change(change, '', '')
if card ~= shown then redis.call('HSET', KEYS[1], 'card', card, 'card_version', version) end
return reply({record[1] and 1 or 3, version})
