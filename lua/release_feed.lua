#!lua
-- release_feed: let another device of the same rider report for a job, after a device without a name has disconnected.
--
-- Travel mode stays on. The next device that publishes is the reporter (publish_location).
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> <rider> <device>'
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  device                 the device that has disconnected, 1 to 64 of [A-Za-z0-9_~-]
-- Errors   'ERR release_feed: ...' on a bad argument; nothing is written.
-- Returns  {1} released   {0} another device or rider reports, or none
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR release_feed: takes 1 key and 2 arguments')
end
if #ARGV[1] > 64 or not string.match(ARGV[1], '^[%w_-]+$') then
  return redis.error_reply('ERR release_feed: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if #ARGV[2] > 64 or not string.match(ARGV[2], '^[%w_~-]+$') then
  return redis.error_reply('ERR release_feed: device must be 1 to 64 of [A-Za-z0-9_~-]')
end

local travel = redis.call('GET', KEYS[1])
local head, owner, reporter = string.match(travel or '', '^(%d+ %d+ )(%S+) (%S+)$')
if owner ~= ARGV[1] or reporter ~= ARGV[2] then return {0} end
redis.call('SET', KEYS[1], head .. owner, 'KEEPTTL')
return {1}
