#!lua
-- note_job: store or remove the note of a job's customer for the rider.
--
-- The gateways of followers read the job again, so that the rider and operations staff see the note immediately.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events, which live as long as the record
-- KEYS[3]  job:{<job>}:events     channel  {"type":"assigned"}: the job must be read again
-- KEYS[4]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  customer               1 to 64 of [A-Za-z0-9_-]: the customer the job must have; '' for any
-- ARGV[2]  note                   at most 1120 bytes; '' removes the note
-- ARGV[3]  ended                  statuses in which a job can no longer be changed, joined by commas
-- ARGV[4]  retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- Errors   'ERR note_job: ...' on a bad argument; nothing is written.
-- Returns  {1} changed   {2} unchanged, nothing is published   {0} no such job, or another customer's
--          {-2, status} the job has ended
-- Cost     O(1) plus one XADD and one SPUBLISH

if #KEYS ~= 4 or #ARGV ~= 4 then
  return redis.error_reply('ERR note_job: takes 4 keys and 4 arguments')
end
local customer, note, ended, retention = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if customer ~= '' and (#customer > 64 or not string.match(customer, '^[%w_-]+$')) then
  return redis.error_reply("ERR note_job: customer must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if #note > 1120 then
  return redis.error_reply('ERR note_job: note must be at most 1120 bytes')
end
if not string.match(ended, '^[a-z_,]+$') then
  return redis.error_reply('ERR note_job: ended must be statuses joined by commas')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR note_job: retention_ms must be 1 to 1000000000000')
end

local record = redis.call('HMGET', KEYS[1], 'customer', 'status', 'customer_note', 'revision', 'zone', 'epoch', 'version')
if not record[1] or (customer ~= '' and record[1] ~= customer) then return {0} end
if note == (record[3] or '') then
  -- A write, so that WAIT covers the earlier change, which another connection may have made.
  redis.call('HSET', KEYS[1], 'customer', record[1])
  return {2}
end
if string.find(',' .. ended .. ',', ',' .. record[2] .. ',', 1, true) then return {-2, record[2]} end

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

append_event('described', record[6], record[5], now, '')
redis.call('HSET', KEYS[1], 'customer_note', note, 'revision', string.format('%.0f', (tonumber(record[4] or '0') or 0) + 1),
  'version', string.format('%.0f', version))
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
redis.call('SPUBLISH', KEYS[3], '{"type":"assigned"}')
return {1}
