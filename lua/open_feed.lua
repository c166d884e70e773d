#!lua
-- open_feed: allow one rider to publish positions for a job until a deadline, and notify the followers.
--
-- Switches travel mode on in the live instance. start_travel has already decided this in the ledger, set the deadline
-- and issued the fence. The deadline is absolute, so calling this again from any gateway does not extend it. The fence
-- grows with every decision, so a decision that arrives after a later one, for example a reassignment, does not open
-- the feed.
--
-- Role     live
-- KEYS[1]  job:{<job>}:travel     string   '<fence> <deadline> <rider> <device>', until a minute after the deadline
-- KEYS[2]  job:{<job>}:position   string   deleted when it belongs to another rider
-- KEYS[3]  job:{<job>}:feed       channel
-- ARGV[1]  rider                  1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  deadline               ms since the epoch, from start_travel
-- ARGV[3]  message                sent to the followers, a JSON object
-- ARGV[4]  mode                   if_absent to open the feed only when there is no entry, after a loss of data; resume to
--                                 keep the stored device if neither it nor this one has a name; else ''
-- ARGV[5]  fence                  from start_travel, 1 to 15 digits
-- ARGV[6]  device                 whose positions are published, 1 to 64 of [A-Za-z0-9_~-], or '' for any device
-- Errors   'ERR open_feed: ...' on a bad argument; nothing is written.
-- Returns  {1} opened   {2} already open for this rider, perhaps on another device; nothing is published
--          {3} opened over a malformed entry
--          {0, now_ms} the deadline has passed
--          {-1} with if_absent: another entry exists, nothing is opened   {-2} a later decision exists
-- Cost     O(1) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 6 then
  return redis.error_reply('ERR open_feed: takes 3 keys and 6 arguments')
end
local rider, message = ARGV[1], ARGV[3]
local deadline = tonumber(ARGV[2])
if #rider > 64 or not string.match(rider, '^[%w_-]+$') then
  return redis.error_reply('ERR open_feed: rider must be 1 to 64 of [A-Za-z0-9_-]')
end
if not deadline or #ARGV[2] ~= 13 or deadline < 1e12 or string.find(ARGV[2], '%D') then
  return redis.error_reply('ERR open_feed: deadline must be ms since the epoch, 13 digits')
end
if string.byte(message) ~= 123 or string.byte(message, -1) ~= 125 then
  return redis.error_reply('ERR open_feed: message must be a JSON object')
end
if ARGV[4] ~= 'if_absent' and ARGV[4] ~= 'resume' and ARGV[4] ~= '' then
  return redis.error_reply("ERR open_feed: mode must be if_absent, resume or ''")
end
if not string.match(ARGV[5], '^%d+$') or #ARGV[5] > 15 then
  return redis.error_reply('ERR open_feed: fence must be 1 to 15 digits')
end
if #ARGV[6] > 64 or string.match(ARGV[6], '[^%w_~-]') then
  return redis.error_reply('ERR open_feed: device must be at most 64 of [A-Za-z0-9_~-]')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= deadline then return {0, now} end
-- A value of another type is malformed too.
local travel = redis.pcall('GET', KEYS[1])
if type(travel) == 'table' then travel = 'malformed' end
local fence, owner, reporter
if travel then
  fence, owner, reporter = string.match(travel, '^(%d+) %d+ (%S*) ?(%S*)$')
  if fence and ARGV[4] == 'if_absent' then return owner == rider and {2} or {-1} end
  if fence and tonumber(ARGV[5]) < tonumber(fence) then return owner == rider and {2} or {-2} end
end
local expires = string.format('%.0f', deadline + 60000)
local device = ARGV[6] ~= '' and ' ' .. ARGV[6] or ''
if ARGV[4] == 'resume' and owner == rider and string.byte(ARGV[6]) == 126 and string.byte(reporter) == 126 then
  device = ' ' .. reporter
end
redis.call('SET', KEYS[1], ARGV[5] .. ' ' .. ARGV[2] .. ' ' .. rider .. device, 'PXAT', expires)
if owner == rider then return {2} end
if travel then redis.call('DEL', KEYS[2]) end
redis.call('SPUBLISH', KEYS[3], message)
return travel and not fence and {3} or {1}
