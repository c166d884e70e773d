#!lua
-- keep_note: store or remove the note that operations staff and services keep with a job.
--
-- Followers never see the note, so nothing is published. It may be changed after the job has ended, for example to say why,
-- and does not extend the job's lifetime. erase_job deletes it with the record. Safe to repeat.
--
-- Role     ledger
-- KEYS[1]  job:{<job>}            hash     the record
-- ARGV[1]  note                   1 to 2,000 bytes, or '' to remove the note
-- ARGV[2]  actor                  who writes it, 1 to 64 of [A-Za-z0-9_-]
-- Errors   'ERR keep_note: ...' on a bad argument; nothing is written.
-- Returns  {1, at_ms} stored, or removed; ms since the epoch   {2, at_ms, actor} the job has this note already, since then and
--          from this person; {2, 0, ''} if it has none   {0} no such job
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR keep_note: takes 1 key and 2 arguments')
end
local note, actor = ARGV[1], ARGV[2]
if #note > 2000 then
  return redis.error_reply('ERR keep_note: note must be 0 to 2000 bytes')
end
if #actor > 64 or not string.match(actor, '^[%w_-]+$') then
  return redis.error_reply('ERR keep_note: actor must be 1 to 64 of [A-Za-z0-9_-]')
end

local record = redis.call('HMGET', KEYS[1], 'status', 'note', 'note_at', 'note_by')
if not record[1] then return {0} end
if (record[2] or '') == note then
  -- A write, so that WAIT covers the earlier change, which another connection may have made.
  redis.call('HSET', KEYS[1], 'status', record[1])
  return {2, tonumber(record[3] or '0') or 0, record[4] or ''}
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if note == '' then
  redis.call('HDEL', KEYS[1], 'note', 'note_at', 'note_by')
else
  redis.call('HSET', KEYS[1], 'note', note, 'note_at', now, 'note_by', actor)
end
return {1, tonumber(now)}
