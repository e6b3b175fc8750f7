import { createRateLimiter, type Grant, type Rate } from '../access/rate-limit.ts';
import type { GatewayConfig } from '../config/model.ts';
import type { PrimaryChannel, WorkerChannel } from '../cluster/channel.ts';
import { LEASE_WAIT_MS, type LimitKind } from './leased-limiter.ts';
import type { Sharing, ValkeyState } from './valkey-state.ts';
import { LATE, within } from './valkey-connection.ts';

/** What a worker shares through its primary. */
export function createWorkerState(channel: WorkerChannel, { valkey }: GatewayConfig): Sharing {
  // The primary sends what it knows right after the start order.
  let known = false;
  let unanswered = 0;
  channel.on('revocations', (message) => (known = message.known));
  return {
    leases: (kind) => async (bucket, least, most, withinMs) => {
      try {
        const grant = await within(withinMs, channel.ask('tokens', { kind, bucket, least, most }));
        if (grant !== LATE) return grant;
        unanswered++;
        return undefined;
      } catch {
        // The primary is gone, and this worker will end soon.
        return undefined;
      }
    },
    revocations: valkey && {
      get known() {
        return known;
      },
    },
    counters: valkey && (() => ({ up: undefined, leases: { unanswered } })),
  };
}

/** In the primary. The returned function must be called when revocations have become known. */
export function serveWorkerState(
  channel: PrimaryChannel,
  config: GatewayConfig,
  valkey: ValkeyState | undefined,
  now: () => number,
): () => void {
  const givers = {
    source: createGiver('source', config.rateLimit, valkey, now),
    principal: createGiver('principal', config.principalRateLimit, valkey, now),
  };
  channel.answer('tokens', ({ kind, bucket, least, most }) => givers[kind]?.(bucket, least, most));
  if (valkey === undefined) return () => {};
  const { revocations } = valkey;
  channel.onJoin((worker) => channel.send(worker, 'revocations', { known: revocations.known }));
  return () => channel.broadcast('revocations', { known: revocations.known });
}

type Give = (bucket: string, least: number, most: number) => Grant | Promise<Grant>;

/** Takes from the bucket of the replica first, then from the one shared with other replicas, if Valkey answers. */
function createGiver(
  kind: LimitKind,
  rate: Rate | undefined,
  valkey: ValkeyState | undefined,
  now: () => number,
): Give | undefined {
  if (rate === undefined) return undefined;
  const own = createRateLimiter({ ...rate, now });
  const ask = valkey?.leases?.(kind, rate);
  return (bucket, least, most) => {
    const mine = own.grant(bucket, least, most);
    if (ask === undefined || mine.granted === 0) return mine;
    const answer = ask(bucket, least, mine.granted, LEASE_WAIT_MS);
    if (answer === undefined) return mine;
    return answer.then((grant) => {
      if (grant === undefined) return mine;
      own.giveBack(bucket, mine.granted - grant.granted);
      return grant;
    });
  };
}
