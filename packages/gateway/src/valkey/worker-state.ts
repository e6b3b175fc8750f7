import { createRateLimiter, type Grant, type Rate } from '../access/rate-limit.ts';
import type { GatewayConfig } from '../config/model.ts';
import type { PrimaryChannel, WorkerChannel } from '../cluster/channel.ts';
import { LEASE_WAIT_MS, type LimitKind, type Sharing } from './leased-limiter.ts';
import type { ValkeyState } from './valkey-state.ts';
import { LATE, within } from './within.ts';

/** What a worker has by its primary. */
export function createWorkerState(channel: WorkerChannel, { valkey }: GatewayConfig): Sharing {
  // What the primary knows comes right behind the start order.
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
        // The primary is gone, and this worker will be soon.
        return undefined;
      }
    },
    revocations:
      valkey === undefined
        ? undefined
        : {
            get known() {
              return known;
            },
          },
    counters: valkey && (() => ({ up: undefined, leases: { unanswered } })),
  };
}

/** The primary's part. Returns what is to be called when revocations have become known. */
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

/** The bucket of the replica first, then the one that it shares with others: without Valkey the first alone counts. */
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
