#!lua
-- forward_event: append an event from an outbox of a cluster to its shard, unless the job's record was erased meanwhile.
--
-- A gateway may append an event long after it has read it from the outbox. An erasure therefore marks the record before
-- it deletes the record's events from the shard: from then on none is appended. enroute.job.erased also marks the
-- record, so no event of the record follows it.
--
-- Role     ledger
-- KEYS[1]  events:{<shard>}          stream   all events of some jobs and riders
-- KEYS[2]  events:{<shard>}:erased   zset     <job>.<epoch> of erased records, by the time of the mark
-- ARGV[1]  id                     1 to 160 of [A-Za-z0-9._-]
-- ARGV[2]  type                   enroute. and 1 to 56 of [a-z_.]
-- ARGV[3]  time                   ms since the epoch, 1 to 16 digits
-- ARGV[4]  subject                the job, 1 to 64 of [A-Za-z0-9_-]
-- ARGV[5]  epoch                  of its record, 0 to 64 of [A-Za-z0-9_-]
-- ARGV[6]  version                number of the event, 1 to 16 digits
-- ARGV[7]  zone                   0 to 64 of [A-Za-z0-9_-]
-- ARGV[8]  data                   JSON object of at most 8,192 bytes
-- Errors   'ERR forward_event: ...' on a bad argument; nothing is written.
-- Returns  {1} appended   {0} the record was erased: nothing is written
-- Cost     O(log erased records)

if #KEYS ~= 2 or #ARGV ~= 8 then
  return redis.error_reply('ERR forward_event: takes 2 keys and 8 arguments')
end
local id, kind, at, subject, epoch, version, zone, data = unpack(ARGV)
if #id > 160 or not string.match(id, '^[%w._-]+$') then
  return redis.error_reply('ERR forward_event: id must be 1 to 160 of [A-Za-z0-9._-]')
end
if #kind > 64 or not string.match(kind, '^enroute%.[a-z_.]+$') then
  return redis.error_reply('ERR forward_event: type must be enroute. and 1 to 56 of [a-z_.]')
end
if #at > 16 or not string.match(at, '^%d+$') then
  return redis.error_reply('ERR forward_event: time must be ms since the epoch, 1 to 16 digits')
end
if #subject > 64 or not string.match(subject, '^[%w_-]+$') then
  return redis.error_reply('ERR forward_event: subject must be 1 to 64 of [A-Za-z0-9_-]')
end
if #epoch > 64 or string.match(epoch, '[^%w_-]') then
  return redis.error_reply('ERR forward_event: epoch must be 0 to 64 of [A-Za-z0-9_-]')
end
if #version > 16 or not string.match(version, '^%d+$') then
  return redis.error_reply('ERR forward_event: version must be 1 to 16 digits')
end
if #zone > 64 or string.match(zone, '[^%w_-]') then
  return redis.error_reply('ERR forward_event: zone must be 0 to 64 of [A-Za-z0-9_-]')
end
if #data > 8192 or not string.match(data, '^{.*}%s*$') then
  return redis.error_reply('ERR forward_event: data must be a JSON object of at most 8192 bytes')
end

-- A mark of another type stops no event: malformed data of one key must not stop the stream.
local mark, is_erasure = subject .. '.' .. epoch, kind == 'enroute.job.erased'
if not is_erasure and type(redis.pcall('ZSCORE', KEYS[2], mark)) == 'string' then return {0} end
if is_erasure and epoch ~= '' then
  local time = redis.call('TIME')
  redis.pcall('ZADD', KEYS[2], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), mark)
end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 50000, '*', 'id', id, 'type', kind, 'time', at, 'subject', subject,
  'epoch', epoch, 'version', version, 'zone', zone, 'data', data)
return {1}
