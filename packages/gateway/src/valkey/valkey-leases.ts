import { createHmac, scryptSync } from 'node:crypto';
import type { Grant, Rate } from '../access/rate-limit.ts';
import type { ValkeyConfig } from '../config/model.ts';
import { LEASE_WAIT_MS, type AskLease, type LimitKind } from './leased-limiter.ts';
import { LEASE_SCRIPT, LEASE_SCRIPT_SHA1 } from './lease-script.ts';
import { keepValkeyConnection, type ValkeyClient } from './valkey-connection.ts';

/** What became of the leases that were asked for. */
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

/** Answers in a row that may be missing before the limits are kept without Valkey. */
const TRIES = 3;
/** The script grants a token that is this much short of whole. */
const ROUNDING_US = 2;
/** A lease has two short texts; what servers tell of themselves at the login has some hundred bytes. */
const ANSWER_BYTES = 65_536;
const PROBE: Rate = { requestsPerSecond: 1000, burst: 1000 };

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
    // What leases need is what is tried, so that a server that takes no writes does not look well.
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

/** Rejects when it gets no answer that makes sense. */
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
    // It forgets scripts when it is started anew or told to.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    reply = await client.eval(LEASE_SCRIPT, call);
  }
  const [granted, aheadUs] = Array.isArray(reply) ? reply.map(Number) : [];
  if (
    granted === undefined ||
    aheadUs === undefined ||
    // Further ahead than a full bucket is none that ever ends: whoever is told so would be refused for as long.
    !(aheadUs >= 0 && aheadUs <= tokenUs * rate.burst + ROUNDING_US) ||
    !(granted === 0 || (granted >= least && granted <= most))
  ) {
    throw new Error('an answer that is none of a lease');
  }
  return { granted, aheadMs: aheadUs / 1000 };
}

/**
 * Names of buckets that tell nobody who was counted: addresses are few enough to be tried one by one, so they are hashed
 * with what the password of Valkey makes. Those without a password have no such secret.
 */
function createNames({ prefix, password = '' }: ValkeyConfig): (kind: LimitKind, bucket: string) => string {
  const secret = scryptSync(password, `svc-gateway ${prefix}`, 32);
  return (kind, bucket) => {
    const hashed = createHmac('sha256', secret).update(bucket).digest('base64url').slice(0, 22);
    return `${prefix}rate:${kind}:${hashed}`;
  };
}
