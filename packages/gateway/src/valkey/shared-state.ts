import { createCallSlots, type CallSlots } from '../access/call-slots.ts';
import { createRateLimiter, type Rate, type RequestLimiter } from '../access/rate-limit.ts';
import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import type { PrimaryChannel, WorkerChannel } from '../cluster/channel.ts';
import { createLeasedLimiter, type LimitKind, type Sharing } from './leased-limiter.ts';
import { openValkeyState, type ValkeyState } from './valkey-state.ts';
import { askForCallSlots, countCalls } from './worker-calls.ts';
import { createWorkerState, serveWorkerState } from './worker-state.ts';

/** What has its place in one process of a replica: the only one, or the primary. */
interface PlacedOnce {
  /** Undefined where there is no Valkey. */
  readonly valkey: Sharing['counters'];
  /** The records of keys have changed. */
  setServices(services: GatewayConfig['services']): void;
  close(): void;
}

/** Limits and revocations, as a process that serves sees them, whoever else they are shared with. */
export interface SharedState extends PlacedOnce {
  /** Of sources. Undefined, like the two below, where there is no such limit. */
  readonly rateLimiter: RequestLimiter | undefined;
  readonly principalRate: RequestLimiter | undefined;
  readonly callSlots: CallSlots | undefined;
  /** Undefined where no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
}

interface SharedStateOptions {
  /** Gets the key ids of all that are revoked. */
  readonly onRevoked: (keyIds: ReadonlySet<string>) => void;
  readonly observe: Observe;
  readonly now: () => number;
}

const ALONE: Sharing = { leases: undefined, revocations: undefined, counters: undefined };

/** Of the only process, or of a worker, which has the channel to its primary. */
export function openSharedState(
  config: GatewayConfig,
  { channel, now, ...options }: SharedStateOptions & { readonly channel: WorkerChannel | undefined },
): SharedState {
  const own = channel === undefined ? openOnce(config, options) : undefined;
  const { leases, revocations, counters } =
    channel === undefined ? (own?.state ?? ALONE) : createWorkerState(channel, config);
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
    close: () => own?.state?.close(),
  };
}

/** Of a primary, for its workers. */
export function serveSharedState(
  config: GatewayConfig,
  { channel, now, onRevoked, observe }: SharedStateOptions & { readonly channel: PrimaryChannel },
): PlacedOnce {
  const once = openOnce(config, {
    observe,
    onRevoked(keyIds) {
      onRevoked(keyIds);
      tellWorkers();
    },
  });
  const tellWorkers = serveWorkerState(channel, config, once.state, now);
  const { principalMaxConcurrentCalls: maxCalls } = config;
  if (maxCalls !== undefined) countCalls(channel, maxCalls);
  return {
    valkey: once.state?.counters,
    setServices: (services) => once.setServices(services),
    close: () => once.state?.close(),
  };
}

function openOnce(
  config: GatewayConfig,
  options: Omit<SharedStateOptions, 'now'>,
): { readonly state: ValkeyState | undefined; setServices(services: GatewayConfig['services']): void } {
  let { services } = config;
  const state = openValkeyState(config, { ...options, services: () => services });
  return {
    state,
    setServices(next) {
      services = next;
      state?.recordsChanged();
    },
  };
}
