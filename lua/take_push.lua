#!lua
-- take_push: return the subscriptions of a job and delete them, so that each browser is notified by one gateway, once.
--
-- Role     live
-- KEYS[1]  job:{<job>}:push       hash     by the digest of the endpoint: the subscription
-- ARGV[1]  most                   how many to return, 1 to 100
-- Errors   'ERR take_push: ...' on a bad argument; nothing is written.
-- Returns  {subscription, ...} in no particular order
-- Cost     O(subscriptions)

if #KEYS ~= 1 or #ARGV ~= 1 then
  return redis.error_reply('ERR take_push: takes 1 key and 1 argument')
end
local most = tonumber(ARGV[1])
if not most or most % 1 ~= 0 or most < 1 or most > 100 then
  return redis.error_reply('ERR take_push: most must be 1 to 100')
end
local subscriptions = redis.call('HVALS', KEYS[1])
while #subscriptions > most do table.remove(subscriptions) end
redis.call('DEL', KEYS[1])
return subscriptions
