#!lua
-- assign_job: assign a job to another rider or another customer, or unassign its rider.
--
-- A new rider starts with travel mode off and a time limit of their own. A rider who had the job before and gets it
-- again has only the time that was left: `deadline_of:<rider>` in the record stores each rider's deadline, so passing a
-- job back and forth does not extend the limit.
--
-- A new customer starts without a note for the rider: the stored one is the former customer's.
--
-- Before it calls this script, the gateway closes the live half of the job with the fence that this script issues. `expected`
-- ensures that no other decision was made in between, so nothing from the old rider is published once the job has moved.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events, which live as long as the record
-- KEYS[3]  job:{<job>}:events     channel  {"type":"assigned"}: grants may have changed
-- KEYS[4]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  expected               fence of the record as the caller read it, 1 to 15 digits
-- ARGV[2]  rider                  1 to 64 of [A-Za-z0-9_-], or '' for none
-- ARGV[3]  customer               1 to 64 of [A-Za-z0-9_-]
-- ARGV[4]  ended                  statuses in which a job can no longer be assigned, joined by commas
-- ARGV[5]  retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- ARGV[6]  occurred_at            when it was decided, ms since the epoch, 13 digits, or '' for now; stored as assigned_at
-- Errors   'ERR assign_job: ...' on a bad argument; nothing is written.
-- Returns  {1, fence} assigned   {2, fence} already theirs, nothing is published   {0} no such job
--          {-1, fence} another decision came first: read the record again   {-2, status} the job has ended
-- Cost     O(1) plus one XADD and one SPUBLISH

if #KEYS ~= 4 or #ARGV ~= 6 then
  return redis.error_reply('ERR assign_job: takes 4 keys and 6 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local expected, rider, customer, ended = unpack(ARGV, 1, 4)
local retention, occurred_at = tonumber(ARGV[5]), ARGV[6]
if not string.match(expected, '^%d+$') or #expected > 15 then
  return redis.error_reply('ERR assign_job: expected must be 1 to 15 digits')
end
if rider ~= '' and not is_name(rider) then
  return redis.error_reply("ERR assign_job: rider must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if not is_name(customer) then
  return redis.error_reply('ERR assign_job: customer must be 1 to 64 of [A-Za-z0-9_-]')
end
if not string.match(ended, '^[a-z_,]+$') then
  return redis.error_reply('ERR assign_job: ended must be statuses joined by commas')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR assign_job: retention_ms must be 1 to 1000000000000')
end
if occurred_at ~= '' and not string.match(occurred_at, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR assign_job: occurred_at must be '' or ms since the epoch, 13 digits")
end

local record = redis.call('HMGET', KEYS[1],
  'status', 'rider', 'customer', 'fence', 'assigned_at', 'travel_deadline', 'deadline_of:' .. rider,
  'revision', 'epoch', 'zone', 'travel_active', 'version')
if not record[1] then return {0} end
local fence = tonumber(record[4] or '0')
if record[2] == rider and record[3] == customer then
  -- A decision that is older than this one but arrives after it must lose.
  -- A write, so that WAIT covers the earlier change, which another connection may have made.
  redis.call('HSET', KEYS[1], 'rider', rider)
  if occurred_at > (record[5] or '') then redis.call('HSET', KEYS[1], 'assigned_at', occurred_at) end
  return {2, fence}
end
if string.find(',' .. ended .. ',', ',' .. record[1] .. ',', 1, true) then return {-2, record[1]} end
if fence ~= tonumber(expected) then return {-1, fence} end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = tonumber(record[12] or '') or 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

local previous = record[2] ~= rider and record[2] or ''
if previous ~= '' and record[11] == '1' then
  append_event('travel.ended', record[9], record[10], now, '"rider":"' .. previous .. '","reason":"reassigned"')
end
append_event('assigned', record[9], record[10], now, '"customer":"' .. customer
  .. (rider ~= '' and '","rider":"' .. rider or '') .. (previous ~= '' and '","previousRider":"' .. previous or '') .. '"')
fence = fence + 1
redis.call('HSET', KEYS[1], 'rider', rider, 'customer', customer, 'fence', fence,
  'assigned_at', occurred_at ~= '' and occurred_at or now,
  'revision', string.format('%.0f', (tonumber(record[8] or '0') or 0) + 1),
  'version', string.format('%.0f', version))
if record[2] ~= rider then
  local used = record[6] or ''
  if used ~= '' then redis.call('HSET', KEYS[1], 'deadline_of:' .. record[2], used) end
  redis.call('HSET', KEYS[1], 'travel_active', '0', 'travel_deadline', record[7] or '')
end
if record[3] ~= customer then redis.call('HSET', KEYS[1], 'customer_note', '') end
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
redis.call('SPUBLISH', KEYS[3], '{"type":"assigned"}')
return {1, fence}
