#!lua
-- join_link: acquire or renew a viewer lease of a tracking link.
--
-- A lease expires at a fixed time. The leases of a gateway that dies are not renewed, so they become free.
--
-- Role     ledger
-- KEYS[1]  link:{<id>}            hash     job, customer, viewers, expires
-- KEYS[2]  link:{<id>}:viewers    zset     sessions, by the time at which their lease expires, ms since the epoch
-- ARGV[1]  session                1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  lease_ms               ms for which the lease is valid, 1 to 3,600,000
-- Errors   'ERR join_link: ...' on a bad argument; nothing is written.
-- Returns  {1, job, expires_ms, customer} leased; the link was created for this customer's job
--          {0} no such link, or it has expired   {-1} all leases are in use
-- Cost     O(log n) for each expired lease, n at most 100

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR join_link: takes 2 keys and 2 arguments')
end
local session, lease = ARGV[1], tonumber(ARGV[2])
if #session > 64 or not string.match(session, '^[%w_-]+$') then
  return redis.error_reply('ERR join_link: session must be 1 to 64 of [A-Za-z0-9_-]')
end
if not lease or lease % 1 ~= 0 or lease < 1 or lease > 3600000 then
  return redis.error_reply('ERR join_link: lease_ms must be 1 to 3600000')
end

local link = redis.call('HMGET', KEYS[1], 'job', 'viewers', 'expires', 'customer')
if not link[1] then return {0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(link[3]) then return {0} end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
if not redis.call('ZSCORE', KEYS[2], session) and redis.call('ZCARD', KEYS[2]) >= tonumber(link[2]) then return {-1} end
redis.call('ZADD', KEYS[2], string.format('%.0f', now + lease), session)
redis.call('PEXPIREAT', KEYS[2], link[3])
return {1, link[1], tonumber(link[3]), link[4]}
