#!lua
-- revoke_grant: revoke a user, a token, a job or a link, and notify every gateway.
--
-- The stream is authoritative, and every gateway reads it twice a second; the message only makes them read it immediately.
-- The stream holds everything that was revoked within the retention, so a gateway that starts can read all of it. When it is
-- full the script refuses further entries instead of dropping old ones early.
--
-- Role     ledger
-- KEYS[1]  control                stream   kind, id, actor, at, reason; expires retention_ms after the last entry
-- KEYS[2]  control                channel  id of the new entry
-- ARGV[1]  kind                   user | token | job | link
-- ARGV[2]  id                     user and job: 1 to 64 of [A-Za-z0-9_-]; token: a jti, 1 to 256 printable characters;
--                                 link: 32 of [0-9a-f]
-- ARGV[3]  actor                  who revokes, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[4]  reason                 shown to people, 0 to 200 bytes without control characters
-- ARGV[5]  retention_ms           ms an entry is retained, 1 to 1,000,000,000,000
-- Errors   'ERR revoke_grant: ...' on a bad argument; nothing is written.
-- Returns  {1, id} revoked   {-1, entries} the stream is full: nothing was revoked
-- Cost     O(expired entries) plus one SPUBLISH

if #KEYS ~= 2 or #ARGV ~= 5 then
  return redis.error_reply('ERR revoke_grant: takes 2 keys and 5 arguments')
end
local kind, id, actor, reason = unpack(ARGV, 1, 4)
local retention = tonumber(ARGV[5])
local is_name = #id <= 64 and string.match(id, '^[%w_-]+$')
if kind ~= 'user' and kind ~= 'token' and kind ~= 'job' and kind ~= 'link' then
  return redis.error_reply('ERR revoke_grant: kind must be user, token, job or link')
end
if (kind == 'user' or kind == 'job') and not is_name then
  return redis.error_reply('ERR revoke_grant: id must be 1 to 64 of [A-Za-z0-9_-]')
end
if kind == 'token' and (#id > 256 or not string.match(id, '^[\33-\126]+$')) then
  return redis.error_reply('ERR revoke_grant: id must be 1 to 256 printable characters')
end
if kind == 'link' and (#id ~= 32 or string.match(id, '[^0-9a-f]')) then
  return redis.error_reply('ERR revoke_grant: id must be 32 of [0-9a-f]')
end
if #actor > 64 or not string.match(actor, '^[%w_-]+$') then
  return redis.error_reply('ERR revoke_grant: actor must be 1 to 64 of [A-Za-z0-9_-]')
end
if #reason > 200 or string.match(reason, '%c') then
  return redis.error_reply('ERR revoke_grant: reason must be 0 to 200 bytes without control characters')
end
if not retention or retention % 1 ~= 0 or retention < 1 or retention > 1e12 then
  return redis.error_reply('ERR revoke_grant: retention_ms must be 1 to 1000000000000')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', math.max(0, now - retention)))
local entries = redis.call('XLEN', KEYS[1])
if entries >= 100000 then return {-1, entries} end
local entry = redis.call('XADD', KEYS[1], '*', 'kind', kind, 'id', id, 'actor', actor, 'at',
  string.format('%.0f', now), 'reason', reason)
redis.call('PEXPIRE', KEYS[1], retention)
redis.call('SPUBLISH', KEYS[2], entry)
return {1, entry}
