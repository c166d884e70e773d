#!lua
-- list_link: add a tracking link to the list of its job, before issue_link writes the link.
--
-- The list is in the job's slot, so this script can check that the job exists. erase_job does not erase a job whose list has
-- a link, so an erasure finds all links of the job, and none can be listed afterwards.
--
-- An entry stays for a minute longer than its link, which is written a moment later and perhaps by another clock.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- KEYS[2]  job:{<job>}:links      zset     link ids, by the time at which each expires; deleted a minute after the last one
--                                          can have expired
-- ARGV[1]  id                     of the link, 32 of [0-9a-f]
-- ARGV[2]  customer               the customer for whom it is created, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[3]  lifetime_ms            ms until it expires, 1 to 14,400,000
-- Errors   'ERR list_link: ...' on a bad argument; nothing is written.
-- Returns  {1, links} listed; the job has this many   {0} no such job, or it has another customer
-- Cost     O(log links) for each expired entry

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply('ERR list_link: takes 2 keys and 3 arguments')
end
local id, customer, lifetime = ARGV[1], ARGV[2], tonumber(ARGV[3])
if #id ~= 32 or string.match(id, '[^0-9a-f]') then
  return redis.error_reply('ERR list_link: id must be 32 of [0-9a-f]')
end
if #customer > 64 or not string.match(customer, '^[%w_-]+$') then
  return redis.error_reply('ERR list_link: customer must be 1 to 64 of [A-Za-z0-9_-]')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 14400000 then
  return redis.error_reply('ERR list_link: lifetime_ms must be 1 to 14400000')
end

if redis.call('HMGET', KEYS[1], 'customer')[1] ~= customer then return {0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now - 60000))
redis.call('ZADD', KEYS[2], string.format('%.0f', now + lifetime), id)
redis.call('PEXPIRE', KEYS[2], 14460000)
return {1, redis.call('ZCARD', KEYS[2])}
