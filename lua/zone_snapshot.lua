#!lua flags=no-writes
-- zone_snapshot: read the pool of a zone, or the changes since a version.
--
-- The same call serves a new follower and a returning one. It returns the changes when the log still holds the version and
-- at most 1,000 changes followed; otherwise it returns the whole pool. Versions increase and have gaps. A follower has
-- missed something when the `prev` of a change is not the version it saw last.
--
-- Role     ledger
-- KEYS[1]  riders:{<zone>}:available       zset     the pool of available riders, by heartbeat, ms
-- KEYS[2]  riders:{<zone>}:audit           stream   every change, trimmed to about 100,000
-- ARGV[1]  since                  last version the follower has seen, 1 to 16 digits, or '' for none
-- ARGV[2]  limit                  maximum number of riders, 1 to 10,000
-- Errors   'ERR zone_snapshot: ...' on a bad argument; nothing is written.
-- Returns  {1, version, changes} complete; change: {id, {field, value, ...}}, of id <ms>-<µs>
--          {2, version, count, pool} count: size of the pool; pool: rider, heartbeat, rider, heartbeat, ..., the newest
--          heartbeat first
-- Cost     O(log riders + riders or changes returned)

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR zone_snapshot: takes 2 keys and 2 arguments')
end
local since, limit = ARGV[1], tonumber(ARGV[2])
if since ~= '' and (#since > 16 or not string.match(since, '^%d+$')) then
  return redis.error_reply("ERR zone_snapshot: since must be '' or 1 to 16 digits")
end
if not limit or limit % 1 ~= 0 or limit < 1 or limit > 10000 then
  return redis.error_reply('ERR zone_snapshot: limit must be 1 to 10000')
end

local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local version = '0'
if last then
  local ms, rest = string.match(last[1], '^(%d+)%-(%d+)$')
  version = string.format('%.0f', ms * 1000 + rest)
end
if since == version then return {1, version, {}} end
if #since > 3 then
  local id = string.sub(since, 1, -4) .. '-' .. tonumber(string.sub(since, -3))
  if #redis.call('XRANGE', KEYS[2], id, id) == 1 then
    local changes = redis.call('XRANGE', KEYS[2], '(' .. id, '+', 'COUNT', 1001)
    if #changes <= 1000 then return {1, version, changes} end
  end
end
local pool = redis.call('ZRANGE', KEYS[1], 0, limit - 1, 'REV', 'WITHSCORES')
return {2, version, redis.call('ZCARD', KEYS[1]), pool}
