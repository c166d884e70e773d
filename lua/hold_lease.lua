#!lua
-- hold_lease: acquire, renew or give up a lease.
--
-- A lease ensures that at most one holder at a time does some work. If the holder dies, the lease expires.
--
-- Role     ledger
-- KEYS[1]  the lease              string   its holder; expires
-- ARGV[1]  holder                 who wants it, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  lifetime_ms            ms until it expires, 1,000 to 600,000, or 0 to give it up
-- Errors   'ERR hold_lease: ...' on a bad argument; nothing is written.
-- Returns  {1} held, or given up   {0} somebody else holds it
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR hold_lease: takes 1 key and 2 arguments')
end
local holder, lifetime = ARGV[1], tonumber(ARGV[2])
if #holder > 64 or not string.match(holder, '^[%w_-]+$') then
  return redis.error_reply('ERR hold_lease: holder must be 1 to 64 of [A-Za-z0-9_-]')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime > 600000 or lifetime < 1000 and lifetime ~= 0 then
  return redis.error_reply('ERR hold_lease: lifetime_ms must be 0, or 1000 to 600000')
end

local current = redis.call('GET', KEYS[1])
if current and current ~= holder then return {0} end
if lifetime == 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], holder, 'PX', lifetime)
end
return {1}
