#!lua
-- switch_on_webhook: record that an endpoint accepted a test: a webhook that was switched off is on again.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}         hash     the webhook
-- ARGV[1]  at                     time of the test, ms since the epoch, 13 digits
-- Errors   'ERR switch_on_webhook: ...' on a bad argument; nothing is written.
-- Returns  {1} recorded   {0} there is no such webhook: nothing is written
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 1 then
  return redis.error_reply('ERR switch_on_webhook: takes 1 key and 1 argument')
end
local at = ARGV[1]
if not string.match(at, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply('ERR switch_on_webhook: at must be ms since the epoch, 13 digits')
end

if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
redis.call('HSET', KEYS[1], 'state', 'on', 'off_reason', '', 'failing_since', '', 'last_error', '', 'delivered_at', at)
return {1}
