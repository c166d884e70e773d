#!lua
-- assign_rider: give a task to a rider, if it may have one: the arbiter, whatever a pool or a map said before.
--
-- The rider must be online, approved, below its capacity, and reachable now, by the clock: who was not heard from for
-- reach_ms gets nothing new, whether or not a sweep has noticed. The task must not be another rider's of this zone.
-- Assigning again what is its task already changes nothing.
--
-- A task is handed over by naming who has it: then it is counted for both until that one's is released, so that no
-- moment lies between in which it is neither's. Whoever has a task that was to be handed over and was not is its rider
-- again by asking for it.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>          hash     the record
-- KEYS[2]  rider:{<zone>}:<rider>:tasks    hash     active task -> its state
-- KEYS[3]  riders:{<zone>}:available       zset     the pool, by heartbeat, ms
-- KEYS[4]  riders:{<zone>}:audit           stream   every change, about 100,000
-- KEYS[5]  riders:{<zone>}:changes         channel  the same, as it happens
-- KEYS[6]  request:{<zone>}:<rider>:<id>   string   the answer to this request, 24 h
-- KEYS[7]  riders:{<zone>}:tasks           hash     active task -> its rider
-- ARGV[1]  zone                   1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  actor                  who asks for it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[4]  request                id of the request, 0 to 128 printable characters; '' for none
-- ARGV[5]  job                    1 to 64 of [A-Za-z0-9_-]
-- ARGV[6]  reach_ms               ms after a heartbeat for which a rider counts as reachable, 1 to 86,400,000
-- ARGV[7]  instead_of             the rider who has it now and hands it over, 1 to 64 of [A-Za-z0-9_-], or '' for none
-- Errors   'ERR assign_rider: ...' on a bad argument; nothing is written.
-- Returns  {1, version} assigned   {2, version} it was its task already   {0} no such rider in the zone
--          {-1, version} offline   {-2, version} not approved   {-3, version} unreachable
--          {-4, job, ...} it has these tasks   {-5, rider} the task is this rider's
--          {-9} another question was asked with this request id
-- Cost     O(log riders + tasks) plus one SPUBLISH

if #KEYS ~= 7 or #ARGV ~= 7 then
  return redis.error_reply('ERR assign_rider: takes 7 keys and 7 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local zone, rider, actor, request, job = unpack(ARGV, 1, 5)
local reach, instead_of = tonumber(ARGV[6]), ARGV[7]
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

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local question = table.concat({'assign_rider', rider, job}, ':')
-- A request is answered once: who asks again is told the same.
local known = request ~= '' and redis.call('GET', KEYS[6])
if known then
  local words = {}
  for word in string.gmatch(known, '[^ ]+') do words[#words + 1] = word end
  if table.remove(words, 1) ~= question then return {-9} end
  words[1] = tonumber(words[1])
  return words
end
local function answer(reply)
  local text = question .. ' ' .. table.concat(reply, ' ')
  if request ~= '' then redis.call('SET', KEYS[6], text, 'PX', 86400000) end
  return reply
end

local record = redis.call('HMGET', KEYS[1],
  'status', 'reachable', 'approved', 'capacity', 'heartbeat', 'device', 'version')
if not record[1] then return {0} end
local status, reachable, approved, capacity, heartbeat, device, version = unpack(record)
-- The same words in every script that changes a rider: whether it is in the pool follows from its record, and the
-- change gets its number, its entry and its message.
local function settle(change, job, reason)
  local tasks = redis.call('HLEN', KEYS[2])
  local available = status == 'online' and reachable == '1' and approved == '1' and tasks < tonumber(capacity)
  if available then redis.call('ZADD', KEYS[3], heartbeat, rider) else redis.call('ZREM', KEYS[3], rider) end
  local last = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1]
  local previous = 0
  if last then
    local ms, rest = string.match(last[1], '^(%d+)%-(%d+)$')
    previous = ms * 1000 + rest
  end
  version = string.format('%.0f', math.max(previous + 1, micros))
  local prev, at, drains = string.format('%.0f', previous), string.format('%.0f', now), approved == '0' and tasks > 0
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
    .. ',"draining":' .. tostring(drains) .. ',"tasks":' .. tasks .. ',"capacity":' .. capacity
    .. ',"available":' .. tostring(available) .. (job ~= '' and ',"job":"' .. job .. '"' or '')
    .. ',"at":' .. at .. '}')
  return version
end

local owner = redis.call('HMGET', KEYS[7], job)[1]
if not owner and redis.call('HMGET', KEYS[2], job)[1] then
  redis.call('HSET', KEYS[7], job, rider)
  owner = rider
end
if owner == rider then return answer({2, version}) end
if owner and owner ~= instead_of then return answer({-5, owner}) end
if status ~= 'online' then return answer({-1, version}) end
if approved ~= '1' then return answer({-2, version}) end
if reachable ~= '1' or now >= heartbeat + reach then return answer({-3, version}) end
local jobs = redis.call('HKEYS', KEYS[2])
if #jobs >= tonumber(capacity) then return answer({-4, unpack(jobs)}) end
redis.call('HSET', KEYS[2], job, 'accepted')
redis.call('HSET', KEYS[7], job, rider)
return answer({1, settle('assigned', job, '')})
