#!lua
-- record_late: add an event that later ones have overtaken to a job's log, without changing the job.
--
-- The entry is marked `late`. Neither the status nor the newest event changes, nothing is published, and recover_job and
-- publish_status skip the entry. Its id follows the newest entry; publish_status and correct_job leave room for it.
--
-- Late entries must not displace those that arrived in time, so the log holds at most 32 of them.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record; only read
-- KEYS[2]  job:{<job>}:log        stream   status events in order, at most 64
-- ARGV[1]  status                 the status that was reached, 1 to 40 of [a-z_]; '' for an assignment
-- ARGV[2]  happens_once           1 when a job can have this status only once, so it is not recorded twice, else 0
-- ARGV[3]  rider                  of an assignment: 1 to 64 of [A-Za-z0-9_-], '' for none, '*' unchanged
-- ARGV[4]  customer               of an assignment: 1 to 64 of [A-Za-z0-9_-], or '' unchanged
-- ARGV[5]  actor                  who sent it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[6]  occurred_at            ms since the epoch, 13 digits, or '' when it is unknown
-- ARGV[7]  request                id of the event, 1 to 128 printable characters
-- Errors   'ERR record_late: ...' on a bad argument; nothing is written.
-- Returns  {1, id} recorded   {2} the log has this event or status already   {3} the log has 32 late entries   {0} no such job
-- Cost     O(events in the log), at most 64

if #KEYS ~= 2 or #ARGV ~= 7 then
  return redis.error_reply('ERR record_late: takes 2 keys and 7 arguments')
end
local function is_name(value)
  return #value <= 64 and string.match(value, '^[%w_-]+$') ~= nil
end
local status, happens_once, rider, customer, actor, occurred_at, request = unpack(ARGV, 1, 7)
if #status > 40 or not string.match(status, '^[a-z_]*$') then
  return redis.error_reply("ERR record_late: status must be '' or 1 to 40 of [a-z_]")
end
if happens_once ~= '0' and happens_once ~= '1' then
  return redis.error_reply('ERR record_late: happens_once must be 0 or 1')
end
if rider ~= '' and rider ~= '*' and not is_name(rider) then
  return redis.error_reply("ERR record_late: rider must be '', '*' or 1 to 64 of [A-Za-z0-9_-]")
end
if customer ~= '' and not is_name(customer) then
  return redis.error_reply("ERR record_late: customer must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if not is_name(actor) then
  return redis.error_reply('ERR record_late: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if occurred_at ~= '' and not string.match(occurred_at, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply("ERR record_late: occurred_at must be '' or ms since the epoch, 13 digits")
end
if #request < 1 or #request > 128 or string.match(request, '[^\33-\126]') then
  return redis.error_reply('ERR record_late: request must be 1 to 128 printable characters')
end

local record = redis.call('HMGET', KEYS[1], 'status', 'head')
if not record[1] then return {0} end
local log, late = redis.call('XREVRANGE', KEYS[2], '+', '-'), 0
if #log == 0 then return {0} end
for _, entry in ipairs(log) do
  local field = {}
  for i = 1, #entry[2], 2 do field[entry[2][i]] = entry[2][i + 1] end
  if field.request == request then return {2} end
  if field.late then late = late + 1 end
  local is_step = status ~= '' and field.status == status and not field.assigned
  if is_step and (happens_once == '1' or occurred_at == '' or field.at == occurred_at) then return {2} end
end
if late >= 32 then return {3} end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local ms, sequence = string.match(log[1][1], '^(%d+)%-(%d+)$')
local fields = {'status', status ~= '' and status or record[1], 'prev', record[2], 'at',
  occurred_at ~= '' and occurred_at or now, 'recorded', now, 'actor', actor, 'source', 'event', 'request', request,
  'late', '1'}
if status == '' then
  fields[#fields + 1], fields[#fields + 2] = 'assigned', '1'
  if rider ~= '*' then fields[#fields + 1], fields[#fields + 2] = 'rider', rider end
  if customer ~= '' then fields[#fields + 1], fields[#fields + 2] = 'customer', customer end
end
return {1, redis.call('XADD', KEYS[2], 'MAXLEN', 64, ms .. '-' .. string.format('%.0f', sequence + 1), unpack(fields))}
