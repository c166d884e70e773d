#!lua
-- claim_request: let exactly one of several requests with the same idempotency key be executed.
--
-- The first request gets the claim. A repeated request receives the stored response or, while the claim is held, has to
-- wait. A claim that expired without a response, for example because its gateway died, goes to the next request.
--
-- Role     ledger
-- KEYS[1]  idempotency:{<name>}   hash     question (the fingerprint); claim and until (ms) while a gateway works on it;
--                                          answer once it is stored
-- ARGV[1]  fingerprint            digest of the request, 64 of [0-9a-f]
-- ARGV[2]  claim                  a nonce of the caller, 32 of [0-9a-f]
-- ARGV[3]  claim_ms               ms for which the claim is exclusive, 1 to 3,600,000
-- ARGV[4]  retention_ms           ms for which the key is remembered, 1 to 1,000,000,000,000
-- Errors   'ERR claim_request: ...' on a bad argument; nothing is written.
-- Returns  {1} claimed, the key is new   {2} claimed; the same request came before and no response was stored
--          {3, answer} already answered   {0, remaining_ms} claimed by another   {-1} the key belongs to another request
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR claim_request: takes 1 key and 4 arguments')
end
local fingerprint, claim = ARGV[1], ARGV[2]
local lease, retention = tonumber(ARGV[3]), tonumber(ARGV[4])
if #fingerprint ~= 64 or string.match(fingerprint, '[^0-9a-f]') then
  return redis.error_reply('ERR claim_request: fingerprint must be 64 of [0-9a-f]')
end
if #claim ~= 32 or string.match(claim, '[^0-9a-f]') then
  return redis.error_reply('ERR claim_request: claim must be 32 of [0-9a-f]')
end
if not lease or lease % 1 ~= 0 or lease < 1 or lease > 3600000 then
  return redis.error_reply('ERR claim_request: claim_ms must be 1 to 3600000')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR claim_request: retention_ms must be 1 to 1000000000000')
end

local stored = redis.call('HMGET', KEYS[1], 'question', 'answer', 'until')
if stored[1] and stored[1] ~= fingerprint then return {-1} end
if stored[2] then return {3, stored[2]} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = tonumber(stored[3] or '0') or 0
if ends > now then return {0, math.min(ends - now, lease)} end
redis.call('HSET', KEYS[1], 'question', fingerprint, 'claim', claim, 'until', string.format('%.0f', now + lease))
redis.call('PEXPIRE', KEYS[1], retention)
return {stored[1] and 2 or 1}
