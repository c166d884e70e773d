#!lua
-- keep_push: store or remove where a browser is notified when the rider of a job is near.
--
-- Role     live
-- KEYS[1]  job:{<job>}:push       hash     by the digest of the endpoint: the subscription
-- ARGV[1]  id                     digest of the endpoint, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  subscription           a JSON object of up to 2,048 bytes, or '' to remove it
-- ARGV[3]  lifetime_ms            ms for which the job's subscriptions are stored, 1 to 604,800,000
-- ARGV[4]  most                   how many a job may have, 1 to 100
-- Errors   'ERR keep_push: ...' on a bad argument; nothing is written.
-- Returns  {1} stored, or removed   {0} the job has as many as it may
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR keep_push: takes 1 key and 4 arguments')
end
local id, subscription = ARGV[1], ARGV[2]
local lifetime, most = tonumber(ARGV[3]), tonumber(ARGV[4])
if #id > 64 or not string.match(id, '^[%w_-]+$') then
  return redis.error_reply('ERR keep_push: id must be 1 to 64 of [A-Za-z0-9_-]')
end
if #subscription > 2048 or (subscription ~= '' and (string.byte(subscription) ~= 123 or string.byte(subscription, -1) ~= 125)) then
  return redis.error_reply('ERR keep_push: subscription must be a JSON object of up to 2048 bytes')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 604800000 then
  return redis.error_reply('ERR keep_push: lifetime_ms must be 1 to 604800000')
end
if not most or most % 1 ~= 0 or most < 1 or most > 100 then
  return redis.error_reply('ERR keep_push: most must be 1 to 100')
end

if subscription == '' then
  redis.call('HDEL', KEYS[1], id)
  return {1}
end
if redis.call('HEXISTS', KEYS[1], id) == 0 and redis.call('HLEN', KEYS[1]) >= most then return {0} end
redis.call('HSET', KEYS[1], id, subscription)
redis.call('PEXPIRE', KEYS[1], lifetime)
return {1}
