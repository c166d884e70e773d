#!lua
-- settle_request: end a claim of claim_request: keep the answer, let the same request act again, or forget the key.
--
-- Role     ledger
-- KEYS[1]  idempotency:{<name>}   hash     question; claim and until (ms) while somebody works on it; answer when it is kept
-- ARGV[1]  claim                  the nonce that got the claim, 32 of [0-9a-f]
-- ARGV[2]  outcome                kept: whoever repeats the request gets the answer | open: the same request acts again, and
--                                 no other may use the key | free: nothing was done, the key is as if it had never been used
-- ARGV[3]  answer                 for kept, 1 to 131,072 bytes; else ''
-- Errors   'ERR settle_request: ...' on a bad argument; nothing is written.
-- Returns  {1} done   {0} the claim is gone, or somebody else's by now: nothing is written
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR settle_request: takes 1 key and 3 arguments')
end
local claim, outcome, answer = ARGV[1], ARGV[2], ARGV[3]
if #claim ~= 32 or string.match(claim, '[^0-9a-f]') then
  return redis.error_reply('ERR settle_request: claim must be 32 of [0-9a-f]')
end
if outcome ~= 'kept' and outcome ~= 'open' and outcome ~= 'free' then
  return redis.error_reply('ERR settle_request: outcome must be kept, open or free')
end
if outcome == 'kept' and (#answer < 1 or #answer > 131072) or outcome ~= 'kept' and answer ~= '' then
  return redis.error_reply("ERR settle_request: answer must be 1 to 131072 bytes where it is kept, else ''")
end

if redis.call('HMGET', KEYS[1], 'claim')[1] ~= claim then return {0} end
if outcome == 'free' then
  redis.call('DEL', KEYS[1])
  return {1}
end
redis.call('HDEL', KEYS[1], 'claim', 'until')
if outcome == 'kept' then redis.call('HSET', KEYS[1], 'answer', answer) end
return {1}
