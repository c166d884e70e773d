#!lua
-- settle_request: end a claim of claim_request, by storing the response, by allowing a repetition or by freeing the key.
--
-- Role     ledger
-- KEYS[1]  idempotency:{<name>}   hash     question (the fingerprint); claim and until (ms) while a gateway works on it;
--                                          answer once it is stored
-- ARGV[1]  claim                  the nonce that got the claim, 32 of [0-9a-f]
-- ARGV[2]  outcome                answered: repeated requests receive the response | unresolved: the same request may be
--                                 executed again, no other may use the key | unused: nothing was done, the key is free
-- ARGV[3]  answer                 for answered, 1 to 131,072 bytes; else ''
-- ARGV[4]  retention_ms           ms for which the key is remembered from now on, unless it is free again;
--                                 1 to 1,000,000,000,000
-- Errors   'ERR settle_request: ...' on a bad argument; nothing is written.
-- Returns  {1} settled   {0} the claim has expired or belongs to another: nothing is written
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR settle_request: takes 1 key and 4 arguments')
end
local claim, outcome, answer, retention = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if #claim ~= 32 or string.match(claim, '[^0-9a-f]') then
  return redis.error_reply('ERR settle_request: claim must be 32 of [0-9a-f]')
end
if outcome ~= 'answered' and outcome ~= 'unresolved' and outcome ~= 'unused' then
  return redis.error_reply('ERR settle_request: outcome must be answered, unresolved or unused')
end
if outcome == 'answered' and (#answer < 1 or #answer > 131072) or outcome ~= 'answered' and answer ~= '' then
  return redis.error_reply("ERR settle_request: answer must be 1 to 131072 bytes when answered, else ''")
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR settle_request: retention_ms must be 1 to 1000000000000')
end

if redis.call('HMGET', KEYS[1], 'claim')[1] ~= claim then return {0} end
if outcome == 'unused' then
  redis.call('DEL', KEYS[1])
  return {1}
end
redis.call('HDEL', KEYS[1], 'claim', 'until')
if outcome == 'answered' then redis.call('HSET', KEYS[1], 'answer', answer) end
redis.call('PEXPIRE', KEYS[1], retention)
return {1}
