import { createHmac, hash, scryptSync } from 'node:crypto';
import type { Grant, Rate } from '../access/rate-limit.ts';
import type { ValkeyConfig } from '../config/model.ts';
import { LEASE_WAIT_MS, type AskLease, type LimitKind } from './leased-limiter.ts';
import { keepValkeyConnection, type ValkeyClient } from './valkey-connection.ts';

/** The outcomes of requests for leases. */
export interface LeaseCounts {
  granted: number;
  refused: number;
  unanswered: number;
}

export interface ValkeyLeases {
  readonly up: boolean;
  readonly counts: LeaseCounts;
  /** Asks for leases of a limit. */
  of(kind: LimitKind, rate: Rate): AskLease;
  close(): void;
}

/** How many answers in a row must be missing before the limits are kept without Valkey. */
const TRIES = 3;
/** The script grants a token that is this much short of whole. */
const ROUNDING_US = 2;
/** A lease has two short texts; what servers send about themselves at the login has some hundred bytes. */
const ANSWER_BYTES = 65_536;
const PROBE: Rate = { requestsPerSecond: 1000, burst: 1000 };

/**
 * The shared bucket, kept in KEYS[1] as the moment at which it will be full: microseconds of the server's own clock, with
 * which no gateway's clock is compared. ARGV: microseconds per token, tokens that the bucket holds, least and most tokens
 * wanted. Returns how many are granted, and in how many microseconds the bucket will then be full again, both as text:
 * numbers would lose their fractions on the way. The key expires when the bucket is full, which is the same as no key.
 */
const LEASE_SCRIPT = `
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

const LEASE_SCRIPT_SHA1 = hash('sha1', LEASE_SCRIPT);

/** Leases of buckets that all gateways with the same Valkey and prefix share. */
export function createValkeyLeases(options: {
  readonly valkey: ValkeyConfig;
  readonly onLost: (reason: string) => void;
  /** After a loss. */
  readonly onBack: () => void;
}): ValkeyLeases {
  const { valkey, onLost, onBack } = options;
  const counts: LeaseCounts = { granted: 0, refused: 0, unanswered: 0 };
  const nameOf = createNames(valkey);
  let lost = false;
  const connection = keepValkeyConnection({
    valkey,
    bounds: { answerBytes: ANSWER_BYTES },
    answerMs: LEASE_WAIT_MS,
    tries: TRIES,
    // Tries what leases need, so that a server that takes no writes does not seem to work.
    probe: (client) => takeLease(client, `${valkey.prefix}probe`, PROBE, 1, 1),
    onUp() {
      if (lost) onBack();
      lost = false;
    },
    onLost(reason) {
      lost = true;
      onLost(reason);
    },
  });

  return {
    get up() {
      return connection.up;
    },
    counts,
    of(kind, rate) {
      return (bucket, least, most, withinMs) => {
        const answer = connection.ask(
          (client) => takeLease(client, nameOf(kind, bucket), rate, least, most),
          withinMs,
        );
        return answer?.then((grant) => {
          if (grant === undefined) counts.unanswered++;
          else if (grant.granted > 0) counts.granted++;
          else counts.refused++;
          return grant;
        });
      };
    },
    close: () => connection.close(),
  };
}

/** Rejects if the answer makes no sense. */
export async function takeLease(
  client: ValkeyClient,
  key: string,
  rate: Rate,
  least: number,
  most: number,
): Promise<Grant> {
  const tokenUs = 1e6 / rate.requestsPerSecond;
  const call = { keys: [key], arguments: [tokenUs, rate.burst, least, most].map(String) };
  let reply: unknown;
  try {
    reply = await client.evalSha(LEASE_SCRIPT_SHA1, call);
  } catch (error) {
    // Valkey forgets scripts when it restarts or is told to.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    reply = await client.eval(LEASE_SCRIPT, call);
  }
  const [granted, aheadUs] = Array.isArray(reply) ? reply.map(Number) : [];
  if (
    granted === undefined ||
    aheadUs === undefined ||
    // No more than a full bucket: otherwise callers would be refused for as long as Valkey says.
    !(aheadUs >= 0 && aheadUs <= tokenUs * rate.burst + ROUNDING_US) ||
    !(granted === 0 || (granted >= least && granted <= most))
  ) {
    throw new Error('an answer that is not a lease');
  }
  return { granted, aheadMs: aheadUs / 1000 };
}

/**
 * Names of buckets do not tell who is counted. Addresses are few enough to be tried one by one, so they are hashed with a
 * key made from the password of Valkey. Without a password there is no secret to make a key from.
 */
function createNames({ prefix, password = '' }: ValkeyConfig): (kind: LimitKind, bucket: string) => string {
  const secret = scryptSync(password, `svc-gateway ${prefix}`, 32);
  return (kind, bucket) => {
    const hashed = createHmac('sha256', secret).update(bucket).digest('base64url').slice(0, 22);
    return `${prefix}rate:${kind}:${hashed}`;
  };
}
