import type { Rate } from '../access/rate-limit.ts';
import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import type { AskLease } from './leased-limiter.ts';
import { keepRevocations, type Revocations } from './revocations.ts';
import { createValkeyLeases, type LeaseCounts, type LimitKind } from './valkey-leases.ts';

/** What processes know together, as one that serves sees it. */
export interface SharedState {
  /** Undefined where a process keeps its limits alone. */
  readonly leases: ((kind: LimitKind, rate: Rate) => AskLease) | undefined;
  /** Undefined where no key can be revoked. */
  readonly revocations: SharedRevocations | undefined;
}

export interface SharedRevocations extends Revocations {
  /** One listener; called at once where something is known already. */
  onChange(listener: () => void): void;
}

/** What a replica has once: the connections to Valkey. */
export interface ValkeyState extends SharedState {
  readonly counters: () => { readonly up: boolean; readonly leases: LeaseCounts };
  /** To be called when the records of keys have changed. */
  recordsChanged(): void;
  close(): void;
}

/** Nothing is shared: one process, no Valkey. */
export const ALONE: SharedState = { leases: undefined, revocations: undefined };

const NO_LEASES: LeaseCounts = { granted: 0, refused: 0, unanswered: 0 };

/** Dials Valkey in the background; undefined where there is none. */
export function openValkeyState(
  config: GatewayConfig,
  options: { readonly hasRecord: (keyId: string) => boolean; readonly observe: Observe },
): ValkeyState | undefined {
  const { valkey } = config;
  const { observe } = options;
  if (valkey === undefined) return undefined;
  const limited = config.rateLimit !== undefined || config.principalRateLimit !== undefined;
  const leases = !limited
    ? undefined
    : createValkeyLeases({
        valkey,
        onLost: (reason) => observe({ event: 'shared_limits_lost', message: `Valkey: ${reason}` }),
        onBack: () => observe({ event: 'shared_limits_back' }),
      });
  let listener = (): void => undefined;
  const revocations = keepRevocations({
    valkey,
    hasRecord: options.hasRecord,
    onChange: () => listener(),
    onUnknown: (reason) => observe({ event: 'revocations_unknown', message: `Valkey: ${reason}` }),
  });
  return {
    leases: leases && ((kind, rate) => leases.of(kind, rate)),
    revocations: {
      get known() {
        return revocations.known;
      },
      get revoked() {
        return revocations.revoked;
      },
      onChange(heard) {
        listener = heard;
        heard();
      },
    },
    counters: () => ({
      up: revocations.up && leases?.up !== false,
      leases: leases?.counts ?? NO_LEASES,
    }),
    recordsChanged: () => revocations.recordsChanged(),
    close() {
      leases?.close();
      revocations.close();
    },
  };
}
