#!lua
-- enlist_webhook: add a webhook to the set of all webhooks, unless there are too many.
--
-- Counting and adding are one step: two gateways that add webhooks at the same time do not exceed the maximum.
--
-- Role     ledger
-- KEYS[1]  webhooks               set      ids of all webhooks
-- ARGV[1]  id                     1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  most                   maximum number of webhooks, 1 to 10,000
-- Errors   'ERR enlist_webhook: ...' on a bad argument; nothing is written.
-- Returns  {1} added, or already in the set   {0} there are too many webhooks: nothing is written
-- Cost     O(webhooks)

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR enlist_webhook: takes 1 key and 2 arguments')
end
local id, most = ARGV[1], tonumber(ARGV[2])
if #id > 64 or not string.match(id, '^[%w_-]+$') then
  return redis.error_reply('ERR enlist_webhook: id must be 1 to 64 of [A-Za-z0-9_-]')
end
if not most or most % 1 ~= 0 or most < 1 or most > 10000 then
  return redis.error_reply('ERR enlist_webhook: most must be 1 to 10000')
end

local ids = redis.call('SMEMBERS', KEYS[1])
for _, known in ipairs(ids) do
  if known == id then return {1} end
end
if #ids >= most then return {0} end
redis.call('SADD', KEYS[1], id)
return {1}
