#!lua
-- drop_link: delete a tracking link and its viewers, even if the link has not been written yet.
--
-- A link is listed (list_link) before it is written. A link that is listed but missing may be written a moment later, so this
-- script blocks its key: issue_link then writes nothing.
--
-- Role     ledger
-- KEYS[1]  link:{<id>}            hash     deleted; only `dropped` for block_ms if there was no link
-- KEYS[2]  link:{<id>}:viewers    zset     deleted
-- ARGV[1]  block_ms               ms for which a missing link cannot be written, 1 to 3,600,000
-- Errors   'ERR drop_link: ...' on a bad argument; nothing is written.
-- Returns  {keys} the number of keys deleted
-- Cost     O(viewers), at most 100

if #KEYS ~= 2 or #ARGV ~= 1 then
  return redis.error_reply('ERR drop_link: takes 2 keys and 1 argument')
end
local block = tonumber(ARGV[1])
if not block or block % 1 ~= 0 or block < 1 or block > 3600000 then
  return redis.error_reply('ERR drop_link: block_ms must be 1 to 3600000')
end

-- A key of another type is malformed, and deleted like a link.
local link = redis.pcall('HMGET', KEYS[1], 'job')
if link.err or link[1] then return {redis.call('DEL', KEYS[1], KEYS[2])} end
redis.call('HSET', KEYS[1], 'dropped', '1')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', block))
return {redis.call('DEL', KEYS[2])}
