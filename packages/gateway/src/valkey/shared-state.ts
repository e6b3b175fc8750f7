import { createCallSlots, type CallSlots } from '../access/call-slots.ts';
import { createRateLimiter, type Rate, type RequestLimiter } from '../access/rate-limit.ts';
import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import type { PrimaryChannel, WorkerChannel } from '../cluster/channel.ts';
import { createLeasedLimiter, type LimitKind } from './leased-limiter.ts';
import { openValkeyState, type Sharing } from './valkey-state.ts';
import { createWorkerState, serveWorkerState } from './worker-state.ts';

/** State that one process of a replica has: the only process, or the primary. */
interface PlacedOnce {
  /** Undefined without Valkey. */
  readonly valkey: Sharing['counters'];
  /** To be called when the key records have changed. */
  setServices(services: GatewayConfig['services']): void;
  close(): void;
}

/** Limits and revocations as a serving process sees them, whether or not it shares them. */
export interface SharedState extends PlacedOnce {
  /** Of sources. Undefined, like the next two, if there is no such limit. */
  readonly rateLimiter: RequestLimiter | undefined;
  readonly principalRate: RequestLimiter | undefined;
  readonly callSlots: CallSlots | undefined;
  /** Undefined if no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
}

interface SharedStateOptions {
  /** Gets the key ids of all that are revoked. */
  readonly onRevoked: (keyIds: ReadonlySet<string>) => void;
  readonly observe: Observe;
  readonly now: () => number;
}

const ALONE: Sharing = { leases: undefined, revocations: undefined, counters: undefined };

/** For the only process, or for a worker, which has a channel to its primary. */
export function openSharedState(
  config: GatewayConfig,
  { channel, now, ...options }: SharedStateOptions & { readonly channel: WorkerChannel | undefined },
): SharedState {
  const own = channel === undefined ? openValkeyState(config, options) : undefined;
  const { leases, revocations, counters } =
    channel === undefined ? (own ?? ALONE) : createWorkerState(channel, config);
  const limiterOf = (kind: LimitKind, rate: Rate | undefined): RequestLimiter | undefined => {
    if (rate === undefined) return undefined;
    const local = createRateLimiter({ ...rate, now });
    const ask = leases?.(kind, rate);
    return ask === undefined ? local : createLeasedLimiter({ rate, local, ask, now });
  };
  const slotsOf = (maxCalls: number): CallSlots =>
    channel === undefined ? createCallSlots(maxCalls) : askForCallSlots(channel);
  const { rateLimit, principalRateLimit, principalMaxConcurrentCalls: maxCalls } = config;
  return {
    rateLimiter: limiterOf('source', rateLimit),
    principalRate: limiterOf('principal', principalRateLimit),
    callSlots: maxCalls === undefined ? undefined : slotsOf(maxCalls),
    revocations,
    valkey: counters,
    setServices: (services) => own?.setServices(services),
    close: () => own?.close(),
  };
}

/** For a primary, which serves its workers. */
export function serveSharedState(
  config: GatewayConfig,
  { channel, now, onRevoked, observe }: SharedStateOptions & { readonly channel: PrimaryChannel },
): PlacedOnce {
  const own = openValkeyState(config, {
    observe,
    onRevoked(keyIds) {
      onRevoked(keyIds);
      tellWorkers();
    },
  });
  const tellWorkers = serveWorkerState(channel, config, own, now);
  const { principalMaxConcurrentCalls: maxCalls } = config;
  if (maxCalls !== undefined) countCalls(channel, maxCalls);
  return {
    valkey: own?.counters,
    setServices: (services) => own?.setServices(services),
    close: () => own?.close(),
  };
}

/** In a worker: the primary counts the calls of all workers together. A worker without its primary ends, and refuses none. */
export function askForCallSlots(channel: WorkerChannel): CallSlots {
  return {
    take: (principalId) => channel.ask('call', { principalId }).catch(() => true),
    free: (principalId) => channel.tell('call_ended', { principalId }),
  };
}

/** In the primary: the calls of a worker end with it. */
export function countCalls(channel: PrimaryChannel, maxCalls: number): void {
  const slots = createCallSlots(maxCalls);
  /** By worker: each principal as often as it has calls. */
  const underWay = new Map<number, string[]>();
  const callsOf = (worker: number): string[] => {
    const known = underWay.get(worker) ?? [];
    underWay.set(worker, known);
    return known;
  };
  channel.answer('call', ({ principalId }, worker) => {
    const taken = slots.take(principalId);
    if (taken) callsOf(worker).push(principalId);
    return taken;
  });
  channel.on('call_ended', ({ principalId }, worker) => {
    const calls = callsOf(worker);
    const at = calls.indexOf(principalId);
    if (at === -1) return;
    calls.splice(at, 1);
    slots.free(principalId);
  });
  channel.onLeave((worker) => {
    for (const principalId of underWay.get(worker) ?? []) slots.free(principalId);
    underWay.delete(worker);
  });
}
