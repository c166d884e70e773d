#!lua
-- issue_link: store a tracking link: the job it shows, how many viewers it allows at the same time, and when it expires.
--
-- list_link lists the link first. If drop_link has dropped it since, for example because the job was erased, nothing is
-- written.
--
-- The secret is not stored. The id is the first half of the secret's digest, so nobody can use the link by reading Redis.
--
-- Role     ledger
-- KEYS[1]  link:{<id>}            hash     job, customer, viewers, expires, actor; deleted when it expires
-- ARGV[1]  job                    1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  viewers                sessions that may use it at the same time, 1 to 100
-- ARGV[3]  lifetime_ms            ms until it expires, 1 to 14,400,000
-- ARGV[4]  actor                  who created it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[5]  customer               the job's customer, 1 to 64 of [A-Za-z0-9_-]: the link is void once the job has another
-- Errors   'ERR issue_link: ...' on a bad argument; nothing is written.
-- Returns  {1, expires_ms} stored   {0} a link with this id exists or was dropped; it is left unchanged
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 5 then
  return redis.error_reply('ERR issue_link: takes 1 key and 5 arguments')
end
local job, actor, customer = ARGV[1], ARGV[4], ARGV[5]
local viewers, lifetime = tonumber(ARGV[2]), tonumber(ARGV[3])
if #job > 64 or not string.match(job, '^[%w_-]+$') then
  return redis.error_reply('ERR issue_link: job must be 1 to 64 of [A-Za-z0-9_-]')
end
if not viewers or viewers % 1 ~= 0 or viewers < 1 or viewers > 100 then
  return redis.error_reply('ERR issue_link: viewers must be 1 to 100')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 14400000 then
  return redis.error_reply('ERR issue_link: lifetime_ms must be 1 to 14400000')
end
if #actor > 64 or not string.match(actor, '^[%w_-]+$') then
  return redis.error_reply('ERR issue_link: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #customer > 64 or not string.match(customer, '^[%w_-]+$') then
  return redis.error_reply('ERR issue_link: customer must be 1 to 64 of [A-Za-z0-9_-]')
end

local existing = redis.call('HMGET', KEYS[1], 'job', 'dropped')
if existing[1] or existing[2] then return {0} end
local time = redis.call('TIME')
local expires = time[1] * 1000 + math.floor(time[2] / 1000) + lifetime
local text = string.format('%.0f', expires)
redis.call('HSET', KEYS[1], 'job', job, 'viewers', string.format('%.0f', viewers), 'expires', text, 'actor', actor)
redis.call('HSET', KEYS[1], 'customer', customer)
redis.call('PEXPIREAT', KEYS[1], text)
return {1, expires}
