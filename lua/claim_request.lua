#!lua
-- claim_request: let one of all who send a request under the same idempotency key carry it out.
--
-- The first to ask gets the claim. Whoever repeats the request gets the kept answer, or is told to wait while the claim
-- runs. A claim that ran out without an answer (its gateway died, say) goes to the next who asks.
--
-- Role     ledger
-- KEYS[1]  idempotency:{<name>}   hash     question; claim and until (ms) while somebody works on it; answer when it is kept
-- ARGV[1]  question               digest of what is asked for, 64 of [0-9a-f]
-- ARGV[2]  claim                  a nonce of the caller's, 32 of [0-9a-f]
-- ARGV[3]  claim_ms               ms for which nobody else may act, 1 to 3,600,000
-- ARGV[4]  keep_ms                ms for which the key is remembered, 1 to 1,000,000,000,000
-- Errors   'ERR claim_request: ...' on a bad argument; nothing is written.
-- Returns  {1} claimed, and nobody asked before   {2} claimed; the same was asked before, and no answer was kept
--          {3, answer} answered before   {0, remaining_ms} somebody works on it   {-1} something else was asked
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR claim_request: takes 1 key and 4 arguments')
end
local question, claim = ARGV[1], ARGV[2]
local lease, keep = tonumber(ARGV[3]), tonumber(ARGV[4])
if #question ~= 64 or string.match(question, '[^0-9a-f]') then
  return redis.error_reply('ERR claim_request: question must be 64 of [0-9a-f]')
end
if #claim ~= 32 or string.match(claim, '[^0-9a-f]') then
  return redis.error_reply('ERR claim_request: claim must be 32 of [0-9a-f]')
end
if not lease or lease % 1 ~= 0 or lease < 1 or lease > 3600000 then
  return redis.error_reply('ERR claim_request: claim_ms must be 1 to 3600000')
end
if not keep or keep % 1 ~= 0 or keep < 1 or keep > 1e12 then
  return redis.error_reply('ERR claim_request: keep_ms must be 1 to 1000000000000')
end

local known = redis.call('HMGET', KEYS[1], 'question', 'answer', 'until')
if known[1] and known[1] ~= question then return {-1} end
if known[2] then return {3, known[2]} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = tonumber(known[3] or '0') or 0
if ends > now then return {0, math.min(ends - now, lease)} end
redis.call('HSET', KEYS[1], 'question', question, 'claim', claim, 'until', string.format('%.0f', now + lease))
redis.call('PEXPIRE', KEYS[1], keep)
return {known[1] and 2 or 1}
