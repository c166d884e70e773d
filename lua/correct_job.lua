#!lua
-- correct_job: return a job from a wrong status to another one, which need not be allowed by the lifecycle.
--
-- Nothing is rewritten: the correction is a new entry of the log, with the status that it corrects and the reason. Followers
-- read the job again, because a status message would only add a step to those they have already received.
--
-- The caller reads the job and decides which status may follow. `expected` ensures that the job has not changed since.
-- If the same actor repeats a request, it receives the first reply, as long as the log contains the entry.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events in order, at most 64
-- KEYS[3]  job:{<job>}:events     channel  {"type":"assigned"}: the job must be read again
-- KEYS[4]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  expected               newest event as the caller read it, <epoch>.<id>
-- ARGV[2]  status                 the right status, 1 to 40 of [a-z_]
-- ARGV[3]  reached                last step of progress with this status, 1 to 40 of [a-z_]
-- ARGV[4]  actor                  who corrects it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[5]  reason                 1 to 800 bytes without control characters
-- ARGV[6]  request                id of the request, 0 to 128 printable characters
-- ARGV[7]  allows_travel          1 when travel mode may be on in this status, else 0
-- ARGV[8]  ends_job               1 when the job ends with this status, else 0
-- ARGV[9]  drops_rider            1 to unassign the rider, who cannot get the task again, else 0
-- ARGV[10] retention_ms           ms the record and its log are retained after this change, 1 to 1,000,000,000,000
-- Errors   'ERR correct_job: ...' on a bad argument; nothing is written.
-- Returns  {1, epoch, prev, id, at_ms, corrected, rider} corrected; `corrected` is the status before, `rider` may be ''
--          {2, epoch, prev, id, at_ms, corrected, rider} the log has this actor's correction with this request and status
--          {0} no such job   {-1, status} the job has this status   {-2, status, head} the newest event is not `expected`
-- Cost     O(events in the log), at most 64, plus XADDs and one SPUBLISH

if #KEYS ~= 4 or #ARGV ~= 10 then
  return redis.error_reply('ERR correct_job: takes 4 keys and 10 arguments')
end
local expected, status, reached, actor, reason, request = unpack(ARGV, 1, 6)
local allows_travel, ends_job, drops_rider, retention = ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])
if #expected > 106 or not string.match(expected, '^[%w_-]+%.%d+%-%d+$') then
  return redis.error_reply('ERR correct_job: expected must be <epoch>.<id>')
end
if #status > 40 or not string.match(status, '^[a-z_]+$') then
  return redis.error_reply('ERR correct_job: status must be 1 to 40 of [a-z_]')
end
if #reached > 40 or not string.match(reached, '^[a-z_]+$') then
  return redis.error_reply('ERR correct_job: reached must be 1 to 40 of [a-z_]')
end
if #actor > 64 or not string.match(actor, '^[%w_-]+$') then
  return redis.error_reply('ERR correct_job: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #reason < 1 or #reason > 800 or string.match(reason, '%c') then
  return redis.error_reply('ERR correct_job: reason must be 1 to 800 bytes without control characters')
end
if #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR correct_job: request must be 0 to 128 printable characters')
end
if allows_travel ~= '0' and allows_travel ~= '1' then
  return redis.error_reply('ERR correct_job: allows_travel must be 0 or 1')
end
if ends_job ~= '0' and ends_job ~= '1' then
  return redis.error_reply('ERR correct_job: ends_job must be 0 or 1')
end
if drops_rider ~= '0' and drops_rider ~= '1' then
  return redis.error_reply('ERR correct_job: drops_rider must be 0 or 1')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR correct_job: retention_ms must be 1 to 1000000000000')
end

local record = redis.call('HMGET', KEYS[1], 'status', 'epoch', 'head', 'zone', 'travel_active', 'rider', 'customer',
  'travel_deadline', 'fence', 'revision', 'version')
local current, epoch, prev, zone, rider = record[1], record[2], record[3], record[4], record[6] or ''
if not current then return {0} end
if request ~= '' then
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[2], '+', '-')) do
    local field = {}
    for i = 1, #entry[2], 2 do field[entry[2][i]] = entry[2][i + 1] end
    if field.request == request and field.actor == actor and field.status == status and field.corrected then
      -- A write, so that WAIT covers the earlier change, which another connection may have made.
      redis.call('HSET', KEYS[1], 'status', current)
      return {2, epoch, field.prev, entry[1], tonumber(field.at), field.corrected, rider}
    end
  end
end
if expected ~= epoch .. '.' .. prev then return {-2, current, prev} end
if current == status then return {-1, current} end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = tonumber(record[11] or '') or 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

-- The id is built as in publish_status and leaves the same room for late entries.
local digest = tonumber(string.sub(redis.sha1hex(table.concat({prev, status, now, actor, request}, ' ')), 1, 8), 16)
local last_ms, last_sequence = string.match(prev, '^(%d+)%-(%d+)$')
local ms = now
if tonumber(last_ms) >= tonumber(now) then ms, digest = last_ms, digest + last_sequence + 65 end
-- Fails before the first write if the stream of all events is of another type.
redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
local id = redis.call('XADD', KEYS[2], 'MAXLEN', 64, ms .. '-' .. string.format('%.0f', digest), 'status', status,
  'prev', prev, 'at', now, 'recorded', now, 'actor', actor, 'source', 'rest', 'request', request, 'corrected', current,
  'reason', reason)
append_event('corrected', epoch, zone, now, '"status":"' .. status .. '","previous":"' .. current .. '","actor":"'
  .. actor .. '"')
if record[5] == '1' and (allows_travel == '0' or drops_rider == '1') then
  append_event('travel.ended', epoch, zone, now, '"rider":"' .. rider .. '","reason":"status"')
end
local changes = {'status', status, 'status_at', now, 'reached', reached, 'head', id,
  'revision', string.format('%.0f', (tonumber(record[10] or '') or 0) + 1)}
if allows_travel == '0' then changes[#changes + 1], changes[#changes + 2] = 'travel_active', '0' end
if drops_rider == '1' and rider ~= '' then
  append_event('assigned', epoch, zone, now, '"customer":"' .. record[7] .. '","previousRider":"' .. rider .. '"')
  local fence = string.format('%.0f', (tonumber(record[9] or '') or 0) + 1)
  for _, value in ipairs({'rider', '', 'fence', fence, 'assigned_at', now, 'travel_active', '0', 'travel_deadline', '',
    'deadline_of:' .. rider, record[8] or ''}) do
    changes[#changes + 1] = value
  end
  rider = ''
end
if ends_job == '1' then append_event('closed', epoch, zone, now, '"status":"' .. status .. '"') end
redis.call('HSET', KEYS[1], 'version', string.format('%.0f', version), unpack(changes))
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('PEXPIRE', KEYS[2], retention)
redis.call('SPUBLISH', KEYS[3], '{"type":"assigned"}')
return {1, epoch, prev, id, tonumber(now), current, rider}
