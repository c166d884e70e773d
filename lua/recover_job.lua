#!lua flags=no-writes
-- recover_job: read the state of a job and the status events that a follower has missed.
--
-- The same call serves new followers, returning followers and periodic checks. The state is always complete. The events are
-- those after `since`; if the log no longer holds `since` the list is empty, and the follower starts again from the state. So
-- does a follower that has missed a correction. Late entries are only for the history.
--
-- The script only reads (no-writes), so a ledger that is full or has lost its replicas still executes it.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:log        stream   status events in order, at most 64
-- ARGV[1]  epoch                  epoch the follower knows, or '' for none
-- ARGV[2]  since                  id of the last status event the follower has seen, or ''
-- Errors   'ERR recover_job: ...' on a bad argument; nothing is written.
-- Returns  {0} no such job
--          {1, state, events} complete   {2, state, {}} the log does not hold the follower's last event, or the follower
--          has missed a correction
--          state: kind customer rider zone destination vendor status status_at epoch head travel_active
--          travel_deadline fence reached revision display accepted_at metadata customer_note reporter
--          recipient reporter_since, in this order, '' where absent
--          event: {id, prev, status, at}
-- Cost     O(events returned), at most 64

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR recover_job: takes 2 keys and 2 arguments')
end
local epoch, since = ARGV[1], ARGV[2]
if epoch ~= '' and (#epoch > 64 or not string.match(epoch, '^[%w_-]+$')) then
  return redis.error_reply("ERR recover_job: epoch must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if since ~= '' and (#since > 41 or not string.match(since, '^%d+%-%d+$')) then
  return redis.error_reply("ERR recover_job: since must be '' or a stream id")
end

local state = redis.call('HMGET', KEYS[1], 'kind', 'customer', 'rider', 'zone', 'destination', 'vendor', 'status',
  'status_at', 'epoch', 'head', 'travel_active', 'travel_deadline', 'fence', 'reached',
  'revision', 'display', 'accepted_at', 'metadata', 'customer_note', 'reporter', 'recipient',
  'reporter_since')
if not state[1] then return {0} end
for i = 1, 22 do state[i] = state[i] or '' end

if since == '' or (epoch == state[9] and since == state[10]) then return {1, state, {}} end
if epoch ~= state[9] or #redis.call('XRANGE', KEYS[2], since, since) == 0 then return {2, state, {}} end

local events = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '(' .. since, '+')) do
  local field = {}
  for i = 1, #entry[2], 2 do field[entry[2][i]] = entry[2][i + 1] end
  if field.corrected then return {2, state, {}} end
  if not field.late then events[#events + 1] = {entry[1], field.prev, field.status, field.at} end
end
return {1, state, events}
