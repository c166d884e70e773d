#!lua
-- note_verdicts: count the validation results of a rider's fixes, store annotations about the rider, and notify followers.
--
-- The gateway that has the rider's session or request calls this seconds after a refusal, otherwise once a minute while
-- the rider reports, never once per fix. The counts of all gateways are added up. The script also records, by the clock
-- of this instance, when a fix was last accepted and when sharing started: a position is stored only for minutes, and a
-- rider who has been silent for longer must still differ from one who has not started. The hash holds counts,
-- annotations and times, never a location.
--
-- A rider who had the job before writes nothing once another one shares their position: the counts of their last seconds
-- must not show that the new rider was seen.
--
-- Role     live
-- KEYS[1]  job:{<job>}:verdicts   hash     verdict -> count; unavailable, proximity, stopped, sharing -> annotation, or '';
--                                          seen_at, sharing_at, at:<verdict> -> ms since the epoch
-- KEYS[2]  job:{<job>}:feed       channel
-- KEYS[3]  job:{<job>}:travel     string   read only: who shares their position. Unless travel mode is on or paused, the
--                                          hash is kept for at most a minute, so a late call for a job that has ended leaves
--                                          nothing behind
-- ARGV[1]  counts                 '<verdict> <number> ...', at most 16 pairs, or ''
-- ARGV[2]  annotations            '<name> <value> ...', at most 4 pairs, '-' to clear one; or ''
-- ARGV[3]  message                sent to the followers, a JSON object; '' for none
-- ARGV[4]  lifetime_ms            maximum ms for which the hash is stored, 1 to 86,400,000
-- ARGV[5]  rider                  whose fixes these are, 1 to 64 of [A-Za-z0-9_-]
-- Errors   'ERR note_verdicts: ...' on a bad argument; nothing is written.
-- Returns  {1} stored   {-2} another rider shares their position for this job, nothing is written
-- Cost     O(pairs) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 5 then
  return redis.error_reply('ERR note_verdicts: takes 3 keys and 5 arguments')
end
local counts, annotations, message, lifetime = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if #counts > 512 or not string.match(counts .. ' ', '^[a-z0-9_ -]+$') then
  return redis.error_reply('ERR note_verdicts: counts must be pairs of a verdict and a number')
end
if #annotations > 128 or not string.match(annotations .. ' ', '^[a-z_ -]+$') then
  return redis.error_reply('ERR note_verdicts: annotations must be pairs of a name and a value')
end
if message ~= '' and (string.byte(message) ~= 123 or string.byte(message, -1) ~= 125) then
  return redis.error_reply("ERR note_verdicts: message must be a JSON object, or ''")
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR note_verdicts: lifetime_ms must be 1 to 86400000')
end
if #ARGV[5] > 64 or not string.match(ARGV[5], '^[%w_-]+$') then
  return redis.error_reply('ERR note_verdicts: rider must be 1 to 64 of [A-Za-z0-9_-]')
end

-- Read before the first write. Malformed data, including a value of another type, counts as travel mode that is off.
local travel = redis.pcall('GET', KEYS[3])
local deadline, owner
if type(travel) == 'string' then deadline, owner = string.match(travel, '^%d+ (%d+) (%S*)') end
if owner and owner ~= '' and owner ~= ARGV[5] then return {-2} end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for verdict, number in string.gmatch(counts, '([a-z_]+) (%-?%d+)') do
  redis.call('HINCRBY', KEYS[1], verdict, number)
  if tonumber(number) > 0 then
    redis.call('HSET', KEYS[1], 'at:' .. verdict, now)
    if verdict == 'accepted' then redis.call('HSET', KEYS[1], 'seen_at', now) end
  end
end
for name, value in string.gmatch(annotations, '([a-z_]+) ([a-z_-]+)') do
  redis.call('HSET', KEYS[1], name, value == '-' and '' or value)
  if name == 'sharing' then redis.call('HSET', KEYS[1], 'sharing_at', now) end
end
if not deadline or deadline == '0' then lifetime = math.min(lifetime, 60000) end
redis.call('PEXPIRE', KEYS[1], lifetime)
if message ~= '' then redis.call('SPUBLISH', KEYS[2], message) end
return {1}
