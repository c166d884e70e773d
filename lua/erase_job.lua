#!lua
-- erase_job: delete everything that the ledger stores about a job: its record, its log and the list of its links.
--
-- A job with a tracking link is not erased: the caller drops the links first (drop_link), and repeats that if another
-- was listed meanwhile (list_link). The record is erased last, so an interrupted erasure can be repeated.
--
-- The last event of the job says that it was erased, so that other systems can erase it too. It names no person.
--
-- Two fields stay for a while; they say nothing about the job. All other scripts treat such a record as missing. They become
-- part of the next record with this id, if there is one, and expire with it.
--
--   fence   a delayed open_feed of the erased job must not open the feed of a new job with the same id
--   erased  the epochs of the last four erased records: an event that creates a job is recognized by its epoch, and must not
--           bring the job back when a queue delivers it again
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record; afterwards only fence and erased
-- KEYS[2]  job:{<job>}:log        stream   deleted
-- KEYS[3]  job:{<job>}:links      zset     deleted; it contains no link, only malformed data if anything
-- KEYS[4]  job:{<job>}:events     channel  {"type":"erased"}: the job no longer exists
-- KEYS[5]  events:{<shard>}       stream   all events; on a cluster outbox:{<tag>}, which is in the job's slot
-- ARGV[1]  epoch                  of the record as the caller read it, 1 to 64 of [A-Za-z0-9_-]; '' for a malformed record
-- ARGV[2]  fence                  of the record as the caller read it, 1 to 15 digits; 0 for a malformed record
-- ARGV[3]  tombstone_ms           ms for which the two fields stay, 1 to 1,000,000,000,000
-- Errors   'ERR erase_job: ...' on a bad argument; nothing is written.
-- Returns  {1, keys} erased; `keys` keys were deleted   {0} no such job   {-1} the job has changed: read the record again
--          {-2} the job has links: drop them
-- Cost     O(log entries + links) plus one XADD and one SPUBLISH

if #KEYS ~= 5 or #ARGV ~= 3 then
  return redis.error_reply('ERR erase_job: takes 5 keys and 3 arguments')
end
local epoch, expected, lifetime = ARGV[1], ARGV[2], tonumber(ARGV[3])
local function is_epoch(text) return #text <= 64 and string.match(text, '^[%w_-]+$') end
local function is_fence(text) return #text <= 15 and string.match(text, '^%d+$') end
if epoch ~= '' and not is_epoch(epoch) then
  return redis.error_reply("ERR erase_job: epoch must be '' or 1 to 64 of [A-Za-z0-9_-]")
end
if not is_fence(expected) then
  return redis.error_reply('ERR erase_job: fence must be 1 to 15 digits')
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 1e12 then
  return redis.error_reply('ERR erase_job: tombstone_ms must be 1 to 1000000000000')
end

-- A key of another type is a malformed record too. It needs no comparison, because no script changes it.
local record = redis.pcall('HMGET', KEYS[1], 'epoch', 'fence', 'zone', 'version', 'erased')
local tombstones = (record[2] and 1 or 0) + (record[5] and 1 or 0)
if not record.err and redis.call('HLEN', KEYS[1]) == tombstones then
  -- A write, so that WAIT covers an earlier erasure, which another connection may have made.
  if record[2] then redis.call('HSET', KEYS[1], 'fence', record[2]) end
  return {0}
end
local is_malformed = record.err or not is_epoch(record[1] or '') or not is_fence(record[2] or '0')
local is_as_read = record[1] == epoch and tonumber(record[2] or '0') == tonumber(expected)
if not is_malformed and not is_as_read then return {-1} end
for _, id in ipairs(redis.pcall('ZRANGE', KEYS[3], 0, -1)) do
  if #id == 32 and not string.match(id, '[^0-9a-f]') then return {-2} end
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local job = string.match(KEYS[1], '{([%w_-]+)}$')
local version = tonumber(record[4] or '') or 0
-- Identical in every script that changes a job: appends an event to the last key, the stream of all events. The script stores
-- `version` in the record, together with its other changes.
local function append_event(kind, epoch, zone, at, data)
  version = version + 1
  local number = string.format('%.0f', version)
  redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', 50000, '*', 'id', (epoch or '') .. '.' .. number .. '.' .. now, 'type',
    'enroute.job.' .. kind, 'time', at, 'subject', job, 'epoch', epoch or '', 'version', number, 'zone', zone or '',
    'data', '{' .. data .. '}')
end

append_event('erased', epoch, record[3], now, '')
local keys = redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'fence', string.format('%.0f', tonumber(expected) + 1))
if is_epoch(record[1] or '') then
  local epochs = {record[1]}
  for former in string.gmatch(record[5] or '', '[%w_-]+') do
    if #epochs < 4 then epochs[#epochs + 1] = former end
  end
  redis.call('HSET', KEYS[1], 'erased', table.concat(epochs, ' '))
end
redis.call('PEXPIRE', KEYS[1], lifetime)
redis.call('SPUBLISH', KEYS[4], '{"type":"erased"}')
return {1, keys}
