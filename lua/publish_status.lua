#!lua
-- publish_status: move a job from one status to the next, append the change to the job's log and notify its followers.
--
-- The gateway knows the lifecycle and passes the statuses from which the new one may follow. The script compares them with
-- the current status, so exactly one of several concurrent changes wins. A follower detects a gap by (epoch, prev, id), where
-- prev is the id of the event before.
--
-- A caller that does not know whether its change was made repeats it with the same request id and receives the first
-- reply, as long as the log still holds it (the newest 64 events). A request id belongs to its actor. The request id of
-- an event from another system contains its source, so a repeated delivery gets the first reply, whichever actor
-- repeats it.
--
-- The id is '<ms>-<digest of prev and of the written fields>', so it identifies the whole history up to this event.
-- With a plain sequence, a new master whose clock is behind could give a status the id of one that was lost with the
-- old master, and a follower that returns with that id would seem to have missed nothing. Of two events in the same ms,
-- the second leaves room for the ids of late entries (record_late).
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events in order, at most 64
-- KEYS[3]  job:{<job>}:events     channel
-- KEYS[4]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  job                    1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  from                   statuses from which this one may follow, joined by commas; '' for none
-- ARGV[3]  status                 the new status, 1 to 40 of [a-z_]
-- ARGV[4]  actor                  who caused it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[5]  source                 rest | socket | event
-- ARGV[6]  occurred_at            ms since the epoch, 13 digits, or '' for now
-- ARGV[7]  request                id of the request, 0 to 128 printable characters
-- ARGV[8]  ends_travel            1 when travel mode ends with this status, else 0
-- ARGV[9]  retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- ARGV[10] expected               newest event the caller knows, <id> or <epoch>.<id>, or '' for any
-- ARGV[11] is_step                1 to store the status as `reached`, the last step of progress, else 0
-- ARGV[12] party                  customer | rider when the actor must be the job's own; '' when it may act for anyone
-- ARGV[13] received               when a gateway received the change, ms since the epoch, 13 digits, or ''
-- ARGV[14] traceparent            W3C Trace Context of the request, version 00, or ''
--                                 `received` and `traceparent` are optional members of the message and are not stored.
-- ARGV[15] ends_job               1 when the job ends with this status, else 0
-- Errors   'ERR publish_status: ...' on a bad argument; nothing is written.
-- Returns  {1, epoch, prev, id, at_ms} published   {0} no such job   {-1, status, head} not allowed from this status
--          {-2, status, head} the newest event is not `expected`   {-3} the actor is not that party
--          {2, epoch, prev, id, at_ms} the log has this request with this status: nothing changes
-- Cost     O(events in the log), at most 64, plus one XADD and one SPUBLISH; O(1) without a request id

if #KEYS ~= 4 or #ARGV ~= 15 then
  return redis.error_reply('ERR publish_status: takes 4 keys and 15 arguments')
end
local job, from, status, actor, source, occurred_at, request, ends_travel = unpack(ARGV, 1, 8)
local retention, expected, is_step, party = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12]
local received, traceparent, ends_job = ARGV[13], ARGV[14], ARGV[15]
if #job > 64 or not string.match(job, '^[%w_-]+$') then
  return redis.error_reply('ERR publish_status: job must be 1 to 64 of [A-Za-z0-9_-]')
end
if not string.match(from, '^[a-z_,]*$') then
  return redis.error_reply('ERR publish_status: from must be statuses joined by commas')
end
if #status > 40 or not string.match(status, '^[a-z_]+$') then
  return redis.error_reply('ERR publish_status: status must be 1 to 40 of [a-z_]')
end
if #actor > 64 or not string.match(actor, '^[%w_-]+$') then
  return redis.error_reply('ERR publish_status: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if source ~= 'rest' and source ~= 'socket' and source ~= 'event' then
  return redis.error_reply('ERR publish_status: source must be rest, socket or event')
end
if occurred_at ~= '' and not string.match(occurred_at, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR publish_status: occurred_at must be '' or ms since the epoch, 13 digits")
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR publish_status: request must be 0 to 128 printable characters')
end
if ends_travel ~= '0' and ends_travel ~= '1' then
  return redis.error_reply('ERR publish_status: ends_travel must be 0 or 1')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR publish_status: retention_ms must be 1 to 1000000000000')
end
local expected_id = string.match(expected, '^[%w_-]+%.(.*)$') or expected
if #expected > 106 or expected ~= '' and not string.match(expected_id, '^%d+%-%d+$') then
  return redis.error_reply("ERR publish_status: expected must be '', <id> or <epoch>.<id>")
end
if is_step ~= '0' and is_step ~= '1' then
  return redis.error_reply('ERR publish_status: is_step must be 0 or 1')
end
if party ~= '' and party ~= 'customer' and party ~= 'rider' then
  return redis.error_reply("ERR publish_status: party must be '', customer or rider")
end
if received ~= '' and not string.match(received, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR publish_status: received must be '' or ms since the epoch, 13 digits")
end
if traceparent ~= '' and (#traceparent ~= 55 or not string.match(traceparent, '^00%-[0-9a-f]+%-[0-9a-f]+%-[0-9a-f]+$')) then
  return redis.error_reply("ERR publish_status: traceparent must be '' or a W3C trace context of version 00")
end
if ends_job ~= '0' and ends_job ~= '1' then
  return redis.error_reply('ERR publish_status: ends_job must be 0 or 1')
end

local record = redis.call('HMGET', KEYS[1], 'status', 'epoch', 'head', party, 'zone', 'travel_active', 'rider',
  'version')
local current, epoch, prev = record[1], record[2], record[3]
if not current then return {0} end
if party ~= '' and record[4] ~= actor then return {-3} end
if request ~= '' then
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[2], '+', '-')) do
    local field = {}
    for i = 1, #entry[2], 2 do field[entry[2][i]] = entry[2][i + 1] end
    local is_theirs = field.actor == actor
    if source == 'event' or field.source == 'event' then is_theirs = field.source == source end
    if field.request == request and is_theirs and field.status == status and not field.late then
      -- A write, so that WAIT covers the earlier change, which another connection may have made.
      redis.call('HSET', KEYS[1], 'status', current)
      return {2, epoch, field.prev, entry[1], tonumber(field.at)}
    end
  end
end
if expected ~= '' and expected ~= prev and expected ~= epoch .. '.' .. prev then return {-2, current, prev} end
if not string.find(',' .. from .. ',', ',' .. current .. ',', 1, true) then return {-1, current, prev} end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local at = occurred_at ~= '' and occurred_at or now
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

local digest = tonumber(string.sub(redis.sha1hex(table.concat({prev, status, at, actor, request}, ' ')), 1, 8), 16)
local last_ms, last_sequence = string.match(prev, '^(%d+)%-(%d+)$')
local ms = now
if tonumber(last_ms) >= tonumber(now) then ms, digest = last_ms, digest + last_sequence + 65 end
-- Fails before the first write if the stream of all events is of another type.
redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
local id = redis.call('XADD', KEYS[2], 'MAXLEN', 64, ms .. '-' .. string.format('%.0f', digest), 'status', status,
  'prev', prev, 'at', at, 'recorded', now, 'actor', actor, 'source', source, 'request', request)
append_event('status.changed', epoch, record[5], at, '"status":"' .. status .. '","previous":"' .. current
  .. '","actor":"' .. actor .. '","source":"' .. source .. '"')
if ends_travel == '1' and record[6] == '1' then
  append_event('travel.ended', epoch, record[5], at, '"rider":"' .. (record[7] or '') .. '","reason":"status"')
end
if ends_job == '1' then append_event('closed', epoch, record[5], at, '"status":"' .. status .. '"') end
local changes = {'status', status, 'status_at', at, 'head', id, 'version', string.format('%.0f', version)}
if is_step == '1' then changes[9], changes[10] = 'reached', status end
-- The usual preparation time counts from the acceptance.
if status == 'accepted' then changes[#changes + 1], changes[#changes + 2] = 'accepted_at', at end
if ends_travel == '1' then changes[#changes + 1], changes[#changes + 2] = 'travel_active', '0' end
redis.call('HSET', KEYS[1], unpack(changes))
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
if received ~= '' then received = ',"received":' .. received end
if traceparent ~= '' then traceparent = ',"traceparent":"' .. traceparent .. '"' end
redis.call('SPUBLISH', KEYS[3], '{"type":"status","job":"' .. job .. '","epoch":"' .. epoch .. '","prev":"' .. prev
  .. '","id":"' .. id .. '","status":"' .. status .. '","at":' .. at .. received .. traceparent .. '}')
return {1, epoch, prev, id, tonumber(at)}
