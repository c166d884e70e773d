#!lua
-- create_job: write a job's record and the first entry of its log.
--
-- Safe to repeat: a job that exists is left unchanged, and the reply has its epoch. A record that was erased is not written
-- again (erase_job).
--
-- A rider is assigned when the job is created (`assigned_at`), so an older assignment that arrives later does not count.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events in order, at most 64
-- KEYS[3]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  kind                   delivery | service
-- ARGV[2]  customer               1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  rider                  the same, or '' when no rider is assigned yet
-- ARGV[4]  zone                   the same, or ''
-- ARGV[5]  destination            JSON object, or ''
-- ARGV[6]  vendor                 JSON object, or ''
-- ARGV[7]  status                 first status, 1 to 40 of [a-z_]
-- ARGV[8]  epoch                  nonce that identifies this record, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[9]  actor                  who created it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[10] retention_ms           ms the record and its log are retained after its last change, 1 to 1,000,000,000,000
-- ARGV[11] display                further details for followers, JSON object, or ''
-- ARGV[12] metadata               further details for services and operations staff, JSON object, or ''
-- ARGV[13] recipient              whom the rider delivers to or visits, JSON object, or ''
-- ARGV[14] occurred_at            when it was created, ms since the epoch, 13 digits, or '' for now
-- ARGV[15] request                id of the request, 0 to 128 printable characters; the log has it
-- Errors   'ERR create_job: ...' on a bad argument; nothing is written.
-- Returns  {1, epoch, id} created   {0, epoch, head} already exists   {-1} the record with this epoch was erased
-- Cost     O(1)

if #KEYS ~= 3 or #ARGV ~= 15 then
  return redis.error_reply('ERR create_job: takes 3 keys and 15 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local kind, customer, rider, zone, destination, vendor, status, epoch, actor = unpack(ARGV, 1, 9)
local retention, display, metadata, recipient = tonumber(ARGV[10]), ARGV[11], ARGV[12], ARGV[13]
local occurred_at, request = ARGV[14], ARGV[15]
if kind ~= 'delivery' and kind ~= 'service' then
  return redis.error_reply('ERR create_job: kind must be delivery or service')
end
if not is_name(customer) then
  return redis.error_reply('ERR create_job: customer must be 1 to 64 of [A-Za-z0-9_-]')
end
if rider ~= '' and not is_name(rider) then
  return redis.error_reply("ERR create_job: rider must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if zone ~= '' and not is_name(zone) then
  return redis.error_reply("ERR create_job: zone must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if destination ~= '' and not string.match(destination, '^{.*}$') then
  return redis.error_reply("ERR create_job: destination must be '' or a JSON object")
end
if vendor ~= '' and not string.match(vendor, '^{.*}$') then
  return redis.error_reply("ERR create_job: vendor must be '' or a JSON object")
end
if #status > 40 or not string.match(status, '^[a-z_]+$') then
  return redis.error_reply('ERR create_job: status must be 1 to 40 of [a-z_]')
end
if not is_name(epoch) then
  return redis.error_reply('ERR create_job: epoch must be 1 to 64 of [A-Za-z0-9_-]')
end
if not is_name(actor) then
  return redis.error_reply('ERR create_job: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR create_job: retention_ms must be 1 to 1000000000000')
end
if display ~= '' and not string.match(display, '^{.*}$') then
  return redis.error_reply("ERR create_job: display must be '' or a JSON object")
end
if metadata ~= '' and not string.match(metadata, '^{.*}$') then
  return redis.error_reply("ERR create_job: metadata must be '' or a JSON object")
end
if recipient ~= '' and not string.match(recipient, '^{.*}$') then
  return redis.error_reply("ERR create_job: recipient must be '' or a JSON object")
end
if occurred_at ~= '' and not string.match(occurred_at, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR create_job: occurred_at must be '' or ms since the epoch, 13 digits")
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR create_job: request must be 0 to 128 printable characters')
end

local existing = redis.call('HMGET', KEYS[1], 'epoch', 'head', 'erased')
if existing[1] then return {0, existing[1], existing[2]} end
for erased in string.gmatch(existing[3] or '', '[%w_-]+') do
  if erased == epoch then return {-1} end
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local at = occurred_at ~= '' and occurred_at or now
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

append_event('created', epoch, zone, at, '"kind":"' .. kind .. '","status":"' .. status .. '","customer":"'
  .. customer .. (rider ~= '' and '","rider":"' .. rider or '') .. '","actor":"' .. actor .. '"')
redis.call('DEL', KEYS[2])
local id = redis.call('XADD', KEYS[2], 'MAXLEN', 64, '*',
  'status', status, 'prev', '', 'at', at, 'recorded', now, 'actor', actor, 'source', 'create', 'request', request)
redis.call('HSET', KEYS[1], 'kind', kind, 'customer', customer, 'rider', rider, 'zone', zone,
  'destination', destination, 'vendor', vendor, 'status', status, 'status_at', at, 'reached', status,
  'epoch', epoch, 'head', id, 'display', display, 'metadata', metadata,
  'recipient', recipient, 'version', string.format('%.0f', version))
if rider ~= '' then redis.call('HSET', KEYS[1], 'assigned_at', at) end
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
return {1, epoch, id}
