#!lua
-- rotate_webhook: give a webhook a new secret. Events are also signed with the previous ones until these expire.
--
-- Reading and writing the secrets is one step, so two rotations at the same time keep both new secrets.
--
-- Role     ledger
-- KEYS[1]  webhook:{<id>}         hash     the webhook
-- ARGV[1]  secret                 whsec_ and base64, 1 to 200 of [A-Za-z0-9+/=_]
-- ARGV[2]  now                    ms since the epoch, 13 digits
-- ARGV[3]  expires                when the secret that was current until now expires, ms since the epoch, 13 digits
-- ARGV[4]  most                   maximum number of secrets, 2 to 20; the oldest ones beyond it are removed
-- Errors   'ERR rotate_webhook: ...' on a bad argument; nothing is written.
-- Returns  {1, secrets} as stored: <secret>:<expires>, the new one first   {0} there is no such webhook
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR rotate_webhook: takes 1 key and 4 arguments')
end
local secret, now, expires, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if #secret > 200 or not string.match(secret, '^[%w+/=_]+$') then
  return redis.error_reply('ERR rotate_webhook: secret must be 1 to 200 of [A-Za-z0-9+/=_]')
end
if not string.match(now, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply('ERR rotate_webhook: now must be ms since the epoch, 13 digits')
end
if not string.match(expires, '^[1-9]%d%d%d%d%d%d%d%d%d%d%d%d$') then
  return redis.error_reply('ERR rotate_webhook: expires must be ms since the epoch, 13 digits')
end
if not most or most % 1 ~= 0 or most < 2 or most > 20 then
  return redis.error_reply('ERR rotate_webhook: most must be 2 to 20')
end

if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
local secrets = {secret .. ':0'}
for text, at in string.gmatch(redis.call('HGET', KEYS[1], 'secrets') or '', '([^: ]+):(%d+)') do
  if at == '0' then at = expires end
  if #secrets < most and tonumber(at) > tonumber(now) then secrets[#secrets + 1] = text .. ':' .. at end
end
local stored = table.concat(secrets, ' ')
redis.call('HSET', KEYS[1], 'secrets', stored)
return {1, stored}
