#!lua
-- finish_joining: record that the jobs a rider had before entering the zone are tasks now.
--
-- A record without `joined` is new, or older than this field: its rider may have such jobs. They become tasks while the
-- rider is online. If the rider has gone offline or was removed meanwhile, nothing is written, so the next gateway that
-- sets the rider online looks for the jobs again.
--
-- Role     ledger
-- KEYS[1]  rider:{<zone>}:<rider>   hash     the record
-- Errors   'ERR finish_joining: ...' on a bad argument; nothing is written.
-- Returns  {1} recorded   {0} the rider is not online in the zone
-- Cost     O(1)

if #KEYS ~= 1 or #ARGV ~= 0 then
  return redis.error_reply('ERR finish_joining: takes 1 key and 0 arguments')
end

if redis.call('HGET', KEYS[1], 'status') ~= 'online' then return {0} end
redis.call('HSET', KEYS[1], 'joined', '1')
return {1}
