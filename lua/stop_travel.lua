#!lua
-- stop_travel: record that no rider shares their position for a job.
--
-- close_feed has already closed the feed, and runs again with the fence issued here, because another gateway may have opened
-- the feed in between. The deadline is kept, so starting again does not extend it.
--
-- A device that was offline when its rider switched travel mode off passes its name, so that it does not switch off a trip
-- that another device has started since.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events, which live as long as the record
-- KEYS[3]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]; '' when the service or operations staff stop it
-- ARGV[2]  retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- ARGV[3]  deadline               ms since the epoch, 13 digits: only if the time limit was this and has been reached; else ''
-- ARGV[4]  device                 only if this device started last, or neither has a name: 1 to 64 of [A-Za-z0-9_~-]; else ''
-- Errors   'ERR stop_travel: ...' on a bad argument; nothing is written.
-- Returns  {1, fence} switched off   {2, fence} was already off, or has another deadline
--          {0} no such job   {-1} not this rider's job   {-2} another device of this rider has started since
-- Cost     O(1)

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR stop_travel: takes 3 keys and 4 arguments')
end
local rider, deadline = ARGV[1], ARGV[3]
local retention = tonumber(ARGV[2])
if rider ~= '' and (#rider > 64 or not string.match(rider, '^[%w_-]+$')) then
  return redis.error_reply("ERR stop_travel: rider must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR stop_travel: retention_ms must be 1 to 1000000000000')
end
if deadline ~= '' and not string.match(deadline, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR stop_travel: deadline must be '' or ms since the epoch, 13 digits")
end
if #ARGV[4] > 64 or string.match(ARGV[4], '[^%w_~-]') then
  return redis.error_reply("ERR stop_travel: device must be '' or 1 to 64 of [A-Za-z0-9_~-]")
end

local record = redis.call('HMGET', KEYS[1], 'rider', 'status', 'travel_active', 'epoch', 'zone', 'travel_deadline',
  'version', 'fence', 'reporter')
if not record[2] then return {0} end
if rider ~= '' and record[1] ~= rider then return {-1} end
-- A device of a rider who had the job before does not count.
local is_theirs = record[9] and string.sub(record[9], 1, #rider + 1) == rider .. ' '
if ARGV[4] ~= '' and is_theirs and record[9] ~= rider .. ' ' .. ARGV[4] then
  local are_nameless = string.byte(ARGV[4]) == 126 and string.byte(record[9], #rider + 2) == 126
  if not are_nameless then return {-2} end
end
local fence = tonumber(record[8] or '') or 0
if record[3] ~= '1' or deadline ~= '' and record[6] ~= deadline then return {2, fence} end
fence = fence + 1
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = tonumber(record[7] or '') or 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

append_event('travel.ended', record[4], record[5], now, '"rider":"' .. (record[1] or '') .. '","reason":"'
  .. (deadline == '' and 'stopped' or 'time_limit') .. '"')
redis.call('HSET', KEYS[1], 'travel_active', '0', 'version', string.format('%.0f', version), 'fence',
  string.format('%.0f', fence))
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
return {1, fence}
