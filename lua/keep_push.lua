#!lua
-- keep_push: store or remove the push subscription of a browser, which is notified when the rider of a job is near.
--
-- The browser of a link viewer is stored under link-<id>. Fewer of these are allowed, so that link viewers leave room for the
-- job's customer. Browsers that have lost access to the job, for example those of a former customer, release their places.
--
-- The caller has read the job's record and checked that the customer has access to it. If a later decision about the job,
-- such as its erasure, has reached the live instance since (close_feed), nothing is stored.
--
-- Role     live
-- KEYS[1]  job:{<job>}:push       hash     by the digest of the endpoint, after link- for a link viewer: the subscription
-- KEYS[2]  job:{<job>}:travel     string   '<fence> ...', read
-- ARGV[1]  id                     digest of the endpoint, 1 to 59 of [A-Za-z0-9_-]
-- ARGV[2]  subscription           a JSON object of up to 2,048 bytes, or '' to remove it
-- ARGV[3]  lifetime_ms            ms for which the job's subscriptions are stored, 1 to 1,000,000,000,000
-- ARGV[4]  most                   maximum number of subscriptions of a job, 1 to 100
-- ARGV[5]  by_link                '1' for a link viewer, otherwise '0'; ignored for a removal
-- ARGV[6]  most_by_link           how many of them may belong to link viewers, 1 to 100
-- ARGV[7]  fence                  of the record as the caller read it, 1 to 15 digits; ignored for a removal
-- ARGV[8]  outdated               subscriptions to remove first, as stored: of browsers without access, joined by line feeds,
--                                 at most 204,900 bytes; '' for none; ignored for a removal
-- Errors   'ERR keep_push: ...' on a bad argument; nothing is written.
-- Returns  {1} stored, or removed   {0} the job has the maximum number of subscriptions
--          {-1} a later decision exists: read the record again
-- Cost     O(subscriptions)

if #KEYS ~= 2 or #ARGV ~= 8 then
  return redis.error_reply('ERR keep_push: takes 2 keys and 8 arguments')
end
local id, subscription = ARGV[1], ARGV[2]
local lifetime, most = tonumber(ARGV[3]), tonumber(ARGV[4])
local by_link, most_by_link, fence, outdated = ARGV[5], tonumber(ARGV[6]), ARGV[7], ARGV[8]
if #id > 59 or not string.match(id, '^[%w_-]+$') then
  return redis.error_reply('ERR keep_push: id must be 1 to 59 of [A-Za-z0-9_-]')
end
if #subscription > 2048 or (subscription ~= ''
  and (string.byte(subscription) ~= 123 or string.byte(subscription, -1) ~= 125)) then
  return redis.error_reply('ERR keep_push: subscription must be a JSON object of up to 2048 bytes')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 1e12 then
  return redis.error_reply('ERR keep_push: lifetime_ms must be 1 to 1000000000000')
end
if not most or most % 1 ~= 0 or most < 1 or most > 100 then
  return redis.error_reply('ERR keep_push: most must be 1 to 100')
end
if by_link ~= '0' and by_link ~= '1' then
  return redis.error_reply('ERR keep_push: by_link must be 0 or 1')
end
if not most_by_link or most_by_link % 1 ~= 0 or most_by_link < 1 or most_by_link > 100 then
  return redis.error_reply('ERR keep_push: most_by_link must be 1 to 100')
end
if #fence > 15 or not string.match(fence, '^%d+$') then
  return redis.error_reply('ERR keep_push: fence must be 1 to 15 digits')
end
if #outdated > 204900 then
  return redis.error_reply('ERR keep_push: outdated must be at most 204900 bytes')
end

local mine, link = id, 'link-' .. id
if subscription == '' then
  redis.call('HDEL', KEYS[1], mine, link)
  return {1}
end
-- Malformed data, including a value of another type, is ignored.
local travel = redis.pcall('GET', KEYS[2])
local latest = type(travel) == 'string' and string.match(travel, '^(%d+) ')
if latest and #latest <= 15 and tonumber(latest) > tonumber(fence) then return {-1} end
local field, other = mine, link
if by_link == '1' then field, other = link, mine end
-- An entry that was replaced since the caller read it differs, and stays.
if outdated ~= '' then
  local is_outdated = {}
  for stored in string.gmatch(outdated, '[^\n]+') do is_outdated[stored] = true end
  local entries = redis.call('HGETALL', KEYS[1])
  for index = 1, #entries, 2 do
    if is_outdated[entries[index + 1]] then redis.call('HDEL', KEYS[1], entries[index]) end
  end
end
-- The browser's own entry is replaced.
local own = redis.call('HEXISTS', KEYS[1], mine) + redis.call('HEXISTS', KEYS[1], link)
if redis.call('HLEN', KEYS[1]) - own >= most then return {0} end
if by_link == '1' then
  local links = 0
  for index, stored in ipairs(redis.call('HGETALL', KEYS[1])) do
    if index % 2 == 1 and stored ~= link and string.sub(stored, 1, 5) == 'link-' then links = links + 1 end
  end
  if links >= most_by_link then return {0} end
end
redis.call('HSET', KEYS[1], field, subscription)
redis.call('HDEL', KEYS[1], other)
redis.call('PEXPIRE', KEYS[1], lifetime)
return {1}
