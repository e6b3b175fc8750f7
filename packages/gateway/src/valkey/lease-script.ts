import { createHash } from 'node:crypto';

/**
 * The shared bucket, kept as the moment at which it will be full (KEYS[1], microseconds of the server's own clock, which
 * no gateway's clock is compared with). ARGV: microseconds a token takes, tokens the bucket holds, least and most tokens
 * wanted. Answers how many are granted, and how many microseconds the bucket then needs to be full again, both as text:
 * numbers lose their fractions on the way. The key ends when the bucket is full, which is worth as much as no key.
 */
export const LEASE_SCRIPT: string = `
local token, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local least, most = tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ahead = math.min(math.max((tonumber(redis.call('GET', KEYS[1])) or now) - now, 0), token * burst)
local free = math.min(burst, math.floor((token * burst - ahead + 1) / token))
local granted = 0
if free >= least then
  granted = math.min(free, most)
  ahead = ahead + granted * token
  redis.call('SET', KEYS[1], string.format('%.3f', now + ahead), 'PX', math.ceil(ahead / 1000) + 1)
end
return { string.format('%d', granted), string.format('%.3f', ahead) }
`.trim();

export const LEASE_SCRIPT_SHA1: string = createHash('sha1').update(LEASE_SCRIPT).digest('hex');
