#!lua
-- drop_listed: remove a job from the list of a person or a zone, unless it was listed again meanwhile.
--
-- A gateway that reads a list removes the entries that the jobs' records contradict. Another gateway may just have listed a
-- job again, with a newer score, before it writes the record. That entry must stay.
--
-- Role     ledger
-- KEYS[1]  jobs:rider:{<rider>}   zset     or jobs:customer:{<customer>} or zone:{<zone>}:jobs: jobs by time, ms
-- ARGV[1]  job                    1 to 64 of [A-Za-z0-9_-]
-- ARGV[2]  score                  of the entry as it was read, 1 to 13 digits
-- Errors   'ERR drop_listed: ...' on a bad argument; nothing is written.
-- Returns  {1} removed   {0} not listed, or with another score
-- Cost     O(log jobs)

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply('ERR drop_listed: takes 1 key and 2 arguments')
end
local job, score = ARGV[1], ARGV[2]
if #job > 64 or not string.match(job, '^[%w_-]+$') then
  return redis.error_reply('ERR drop_listed: job must be 1 to 64 of [A-Za-z0-9_-]')
end
if #score > 13 or not string.match(score, '^%d+$') then
  return redis.error_reply('ERR drop_listed: score must be 1 to 13 digits')
end

local stored = redis.call('ZSCORE', KEYS[1], job)
if not stored or tonumber(stored) ~= tonumber(score) then return {0} end
redis.call('ZREM', KEYS[1], job)
return {1}
