#!lua
-- join_link: take one of the places of a tracking link, or keep the one that a session has.
--
-- A place counts until a time, not until it is given back: a gateway that dies gives nothing back, and its places are
-- free again once nobody has renewed them.
--
-- Role     ledger
-- KEYS[1]  link:{<id>}            hash     job, customer, viewers, expires
-- KEYS[2]  link:{<id>}:viewers    zset     sessions, by the ms since the epoch until which each counts
-- ARGV[1]  session                1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  hold_ms                ms that the place counts, 1 to 3,600,000
-- Errors   'ERR join_link: ...' on a bad argument; nothing is written.
-- Returns  {1, job, expires_ms, customer} it has a place, by a link for that customer's job
--          {0} no such link (any more)   {-1} all places are taken
-- Cost     O(log n) for each place that is no longer held, n at most 100

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('ERR join_link: takes 2 keys and 2 arguments')
end
local session, hold = ARGV[1], tonumber(ARGV[2])
if #session > 64 or not string.match(session, '^[%w_-]+$') then
  return redis.error_reply('ERR join_link: session must be 1 to 64 of [A-Za-z0-9_-]')
end
if not hold or hold % 1 ~= 0 or hold < 1 or hold > 3600000 then
  return redis.error_reply('ERR join_link: hold_ms must be 1 to 3600000')
end

local link = redis.call('HMGET', KEYS[1], 'job', 'viewers', 'expires', 'customer')
if not link[1] then return {0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(link[3]) then return {0} end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
if not redis.call('ZSCORE', KEYS[2], session) and redis.call('ZCARD', KEYS[2]) >= tonumber(link[2]) then return {-1} end
redis.call('ZADD', KEYS[2], string.format('%.0f', now + hold), session)
redis.call('PEXPIREAT', KEYS[2], link[3])
return {1, link[1], tonumber(link[3]), link[4]}
