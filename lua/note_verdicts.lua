#!lua
-- note_verdicts: count what became of a rider's readings, note why nothing is seen of it, and tell the job's followers.
--
-- Written every few seconds while a rider reports, never for each reading, by whichever gateway its session or request
-- is at: what each counted is added. When one was last accepted, and when sharing began, is noted by the clock of this
-- instance: a position is kept for minutes, and who has been silent for longer is still to be told from who has not begun.
-- Counts, words and times only, never where somebody is.
--
-- Role     live
-- KEYS[1]  job:{<job>}:verdicts   hash     verdict -> how many; unavailable, proximity, stopped, sharing -> a word, or '';
--                                          seen_at, sharing_at -> ms since the epoch
-- KEYS[2]  job:{<job>}:feed       channel
-- KEYS[3]  job:{<job>}:travel     string   read: without a travel mode that is on or paused, the hash is kept for a minute
--                                          at most, so that a late note of a job that has ended leaves nothing for long
-- ARGV[1]  counts                 '<verdict> <number> ...', at most 16 pairs, or ''
-- ARGV[2]  words                  '<name> <word> ...', at most 4 pairs, '-' for none now; or ''
-- ARGV[3]  message                what the followers are told, a JSON object; '' to tell nobody
-- ARGV[4]  lifetime_ms            ms the hash is kept after this at most, 1 to 86,400,000
-- Errors   'ERR note_verdicts: ...' on a bad argument; nothing is written.
-- Returns  {1} noted
-- Cost     O(pairs) plus one SPUBLISH

if #KEYS ~= 3 or #ARGV ~= 4 then
  return redis.error_reply('ERR note_verdicts: takes 3 keys and 4 arguments')
end
local counts, words, message, lifetime = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if #counts > 512 or not string.match(counts .. ' ', '^[a-z0-9_ -]+$') then
  return redis.error_reply('ERR note_verdicts: counts must be pairs of a verdict and a number')
end
if #words > 128 or not string.match(words .. ' ', '^[a-z_ -]+$') then
  return redis.error_reply('ERR note_verdicts: words must be pairs of a name and a word')
end
if message ~= '' and (string.byte(message) ~= 123 or string.byte(message, -1) ~= 125) then
  return redis.error_reply("ERR note_verdicts: message must be a JSON object, or ''")
end
if not lifetime or lifetime % 1 ~= 0 or lifetime < 1 or lifetime > 86400000 then
  return redis.error_reply('ERR note_verdicts: lifetime_ms must be 1 to 86400000')
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for verdict, number in string.gmatch(counts, '([a-z_]+) (%-?%d+)') do
  redis.call('HINCRBY', KEYS[1], verdict, number)
  if verdict == 'accepted' and tonumber(number) > 0 then redis.call('HSET', KEYS[1], 'seen_at', now) end
end
for name, word in string.gmatch(words, '([a-z_]+) ([a-z_-]+)') do
  redis.call('HSET', KEYS[1], name, word == '-' and '' or word)
  if name == 'sharing' then redis.call('HSET', KEYS[1], 'sharing_at', now) end
end
local known = redis.call('GET', KEYS[3])
local deadline = known and string.match(known, '^%d+ (%d+) ') or '0'
if deadline == '0' then lifetime = math.min(lifetime, 60000) end
redis.call('PEXPIRE', KEYS[1], lifetime)
if message ~= '' then redis.call('SPUBLISH', KEYS[2], message) end
return {1}
