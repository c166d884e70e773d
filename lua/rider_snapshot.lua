#!lua flags=no-writes
-- rider_snapshot: read a rider's record and its tasks.
--
-- The declared status and reachability are separate. The clock decides reachability, whether or not a sweep has noticed.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>          hash     the record
-- KEYS[2]  rider:{<zone>}:<rider>:tasks    hash     active task -> its state
-- ARGV[1]  reach_ms               ms after a heartbeat for which a rider counts as reachable, 1 to 86,400,000
-- Errors   'ERR rider_snapshot: ...' on a bad argument; nothing is written.
-- Returns  {0} no such rider in the zone   {1, state, tasks}
--          state: status reachable approved capacity heartbeat device version status_at reason card card_version, in this
--          order, '' where absent; tasks: job, state, job, state, ...
-- Cost     O(tasks)

if #KEYS ~= 2 or #ARGV ~= 1 then
  return redis.error_reply('ERR rider_snapshot: takes 2 keys and 1 argument')
end
local reach = tonumber(ARGV[1])
if not reach or reach % 1 ~= 0 or reach < 1 or reach > 86400000 then
  return redis.error_reply('ERR rider_snapshot: reach_ms must be 1 to 86400000')
end

local state = redis.call('HMGET', KEYS[1],
  'status', 'reachable', 'approved', 'capacity', 'heartbeat', 'device', 'version', 'status_at', 'reason',
  'card', 'card_version')
if not state[1] then return {0} end
for i = 1, 11 do state[i] = state[i] or '' end
local time = redis.call('TIME')
if time[1] * 1000 + math.floor(time[2] / 1000) >= state[5] + reach then state[2] = '0' end
return {1, state, redis.call('HGETALL', KEYS[2])}
