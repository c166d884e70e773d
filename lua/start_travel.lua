#!lua
-- start_travel: decide whether a rider may share their position for a job, and until when.
--
-- The deadline is set when this rider first starts, and stored in the record: stopping and starting again, from another
-- gateway or another device, does not extend it. open_feed then opens the feed on the live instance until that deadline, with
-- the fence issued here. A later decision has a greater fence.
--
-- The record names the device that started last, and only that device may resume: a device that was offline while another one
-- took over must not take the trip back by itself. Devices without a name get one that lasts as long as their connection;
-- among these, open_feed decides which one continues. No device may resume after travel mode was switched off, by any device
-- of the rider, by the service or by the status.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events, which live as long as the record
-- KEYS[3]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  cap_ms                 ms from the first start, 1,000 to 86,400,000
-- ARGV[3]  allowed                statuses in which travel mode may be on, joined by commas
-- ARGV[4]  retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- ARGV[5]  device                 1 to 64 of [A-Za-z0-9_~-]
-- ARGV[6]  resume                 1 to continue what this device started, 0 to start here
-- Errors   'ERR start_travel: ...' on a bad argument; nothing is written.
-- Returns  {1, deadline_ms, fence} on   {0} no such job   {-1} not this rider's job
--          {-2, status} not allowed in this status   {-3, deadline_ms} the time limit for this job has been reached
--          {-4} with resume: another device of this rider has started since
--          {-5} with resume: travel mode was switched off since   {-6} with resume: travel mode was never on
-- Cost     O(1)

if #KEYS ~= 3 or #ARGV ~= 6 then
  return redis.error_reply('ERR start_travel: takes 3 keys and 6 arguments')
end
local rider, allowed = ARGV[1], ARGV[3]
local cap, retention = tonumber(ARGV[2]), tonumber(ARGV[4])
if #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR start_travel: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not cap or cap % 1 ~= 0 or cap < 1000 or cap > 86400000 then
  return redis.error_reply('ERR start_travel: cap_ms must be 1000 to 86400000')
end
if not string.match(allowed, '^[a-z_,]+$') then
  return redis.error_reply('ERR start_travel: allowed must be statuses joined by commas')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR start_travel: retention_ms must be 1 to 1000000000000')
end
if #ARGV[5] > 64 or not string.match(ARGV[5], '^[%w_~-]+$') then
  return redis.error_reply('ERR start_travel: device must be 1 to 64 of [A-Za-z0-9_~-]')
end
if ARGV[6] ~= '0' and ARGV[6] ~= '1' then
  return redis.error_reply('ERR start_travel: resume must be 0 or 1')
end

local record = redis.call('HMGET', KEYS[1], 'rider', 'status', 'travel_deadline', 'fence',
  'epoch', 'zone', 'travel_active', 'version', 'reporter')
if not record[2] then return {0} end
if record[1] ~= rider then return {-1} end
if not string.find(',' .. allowed .. ',', ',' .. record[2] .. ',', 1, true) then return {-2, record[2]} end
-- A device of a rider who had the job before does not count.
local reporter = rider .. ' ' .. ARGV[5]
if ARGV[6] == '1' and record[9] and record[9] ~= reporter and string.sub(record[9], 1, #rider + 1) == rider .. ' ' then
  local are_nameless = string.byte(ARGV[5]) == 126 and string.byte(record[9], #rider + 2) == 126
  if not are_nameless then return {-4} end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = tonumber(record[8] or '') or 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

local deadline = tonumber(record[3] or '')
if deadline and now >= deadline then
  if record[7] == '1' then
    append_event('travel.ended', record[5], record[6], now, '"rider":"' .. rider .. '","reason":"time_limit"')
  end
  redis.call('HSET', KEYS[1], 'travel_active', '0', 'version', string.format('%.0f', version))
  return {-3, deadline}
end
if ARGV[6] == '1' and record[7] ~= '1' then return {record[7] and -5 or -6} end
deadline = deadline or now + cap
local fence = tonumber(record[4] or '0') + 1
if record[7] ~= '1' then
  append_event('travel.started', record[5], record[6], now, '"rider":"' .. rider .. '","deadline":'
    .. string.format('%.0f', deadline))
end
redis.call('HSET', KEYS[1], 'travel_active', '1', 'travel_deadline', string.format('%.0f', deadline), 'fence', fence,
  'reporter', reporter, 'version', string.format('%.0f', version))
-- Earlier positions are those of another device, and say little about where this one is.
if record[9] ~= reporter then redis.call('HSET', KEYS[1], 'reporter_since', string.format('%.0f', now)) end
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
return {1, deadline, fence}
