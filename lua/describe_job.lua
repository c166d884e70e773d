#!lua
-- describe_job: change a job's pickup place, destination, zone, display details, metadata or recipient.
--
-- An argument '' keeps the stored value; display, metadata and recipient are removed by '{}'. The gateways of followers
-- read the job again, so a new destination is shown immediately.
--
-- The caller has checked the new values together with the stored ones. `revision` ensures that the record has not changed
-- since.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events, which live as long as the record
-- KEYS[3]  job:{<job>}:events     channel  {"type":"assigned"}: the job must be read again
-- KEYS[4]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  kind                   delivery | service: the kind the job must have
-- ARGV[2]  zone                   1 to 64 of [A-Za-z0-9_-], or ''
-- ARGV[3]  destination            JSON object, or ''
-- ARGV[4]  vendor                 JSON object, or ''
-- ARGV[5]  ended                  statuses in which a job can no longer be changed, joined by commas
-- ARGV[6]  retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- ARGV[7]  display                further details for followers, JSON object, or ''
-- ARGV[8]  metadata               further details for services and operations staff, JSON object, or ''
-- ARGV[9]  recipient              whom the rider delivers to or visits, JSON object, or ''
-- ARGV[10] revision               of the record that the caller has read, 1 to 15 digits; '' for any
-- Errors   'ERR describe_job: ...' on a bad argument; nothing is written.
-- Returns  {1} changed   {2} unchanged, nothing is published   {0} no such job   {-1, kind} the job is of another kind
--          {-2, status} the job has ended   {-3} the record has another revision
-- Cost     O(1) plus one XADD and one SPUBLISH

if #KEYS ~= 4 or #ARGV ~= 10 then
  return redis.error_reply('ERR describe_job: takes 4 keys and 10 arguments')
end
local kind, zone, destination, vendor, ended = unpack(ARGV, 1, 5)
local retention, display, metadata, recipient, revision = tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9], ARGV[10]
if kind ~= 'delivery' and kind ~= 'service' then
  return redis.error_reply('ERR describe_job: kind must be delivery or service')
end
if zone ~= '' and (#zone > 64 or not string.match(zone, '^[%w_-]+$')) then
  return redis.error_reply("ERR describe_job: zone must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if destination ~= '' and not string.match(destination, '^{.*}$') then
  return redis.error_reply("ERR describe_job: destination must be '' or a JSON object")
end
if vendor ~= '' and not string.match(vendor, '^{.*}$') then
  return redis.error_reply("ERR describe_job: vendor must be '' or a JSON object")
end
if not string.match(ended, '^[a-z_,]+$') then
  return redis.error_reply('ERR describe_job: ended must be statuses joined by commas')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR describe_job: retention_ms must be 1 to 1000000000000')
end
if display ~= '' and not string.match(display, '^{.*}$') then
  return redis.error_reply("ERR describe_job: display must be '' or a JSON object")
end
if metadata ~= '' and not string.match(metadata, '^{.*}$') then
  return redis.error_reply("ERR describe_job: metadata must be '' or a JSON object")
end
if recipient ~= '' and not string.match(recipient, '^{.*}$') then
  return redis.error_reply("ERR describe_job: recipient must be '' or a JSON object")
end
if revision ~= '' and (#revision > 15 or not string.match(revision, '^%d+$')) then
  return redis.error_reply("ERR describe_job: revision must be '' or 1 to 15 digits")
end

local record = redis.call('HMGET', KEYS[1], 'kind', 'status', 'zone', 'destination', 'vendor', 'display', 'metadata',
  'revision', 'epoch', 'version', 'recipient')
if not record[1] then return {0} end
if record[1] ~= kind then return {-1, record[1]} end
if zone == '' then zone = record[3] or '' end
if destination == '' then destination = record[4] or '' end
if vendor == '' then vendor = record[5] or '' end
local shown, noted, known = record[6] or '', record[7] or '', record[11] or ''
if display == '' then display = shown elseif display == '{}' then display = '' end
if metadata == '' then metadata = noted elseif metadata == '{}' then metadata = '' end
if recipient == '' then recipient = known elseif recipient == '{}' then recipient = '' end
local is_same_text = display == shown and metadata == noted and recipient == known
if zone == record[3] and destination == record[4] and vendor == record[5] and is_same_text then
  -- A write, so that WAIT covers the earlier change, which another connection may have made.
  redis.call('HSET', KEYS[1], 'kind', kind)
  return {2}
end
if string.find(',' .. ended .. ',', ',' .. record[2] .. ',', 1, true) then return {-2, record[2]} end
local last = tonumber(record[8] or '') or 0
if revision ~= '' and tonumber(revision) ~= last then return {-3} end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = tonumber(record[10] or '') or 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

append_event('described', record[9], zone, now,
  zone ~= (record[3] or '') and '"previousZone":"' .. (record[3] or '') .. '"' or '')
redis.call('HSET', KEYS[1], 'zone', zone, 'destination', destination, 'vendor', vendor, 'display', display,
  'metadata', metadata, 'recipient', recipient, 'version', string.format('%.0f', version),
  'revision', string.format('%.0f', last + 1))
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
redis.call('SPUBLISH', KEYS[3], '{"type":"assigned"}')
return {1}
