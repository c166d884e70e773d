#!lua
-- note_webhook: store a fact about a webhook: how far its events were read, or how its endpoint responds.
--
-- Only the holder of the webhook's lease may do this, and only while the webhook exists: otherwise a gateway that was slow
-- could move the cursor back, or recreate a removed webhook.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}:lease   string   the gateway that delivers its events
-- KEYS[2]  webhook:{<id>}         hash     the webhook
-- ARGV[1]  holder                 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  field                  cursor:<shard>, or 1 to 40 of [a-z_]
-- ARGV[3]  value                  0 to 500 bytes without control characters
-- Errors   'ERR note_webhook: ...' on a bad argument; nothing is written.
-- Returns  {1} stored   {0} there is no such webhook   {-1} the caller does not hold the lease
-- Cost     O(1)

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply('ERR note_webhook: takes 2 keys and 3 arguments')
end
local holder, field, value = ARGV[1], ARGV[2], ARGV[3]
if #holder > 64 or not string.match(holder, '^[%w_-]+$') then
  return redis.error_reply('ERR note_webhook: holder must be 1 to 64 of [A-Za-z0-9_-]')
end
if not string.match(field, '^cursor:%d%d?$') and (#field > 40 or not string.match(field, '^[a-z_]+$')) then
  return redis.error_reply('ERR note_webhook: field must be cursor:<shard> or 1 to 40 of [a-z_]')
end
if #value > 500 or string.match(value, '%c') then
  return redis.error_reply('ERR note_webhook: value must be 0 to 500 bytes without control characters')
end

if redis.call('GET', KEYS[1]) ~= holder then return {-1} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {0} end
redis.call('HSET', KEYS[2], field, value)
return {1}
