import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import type { ValkeyCounters } from '../telemetry/metrics.ts';
import type { AskLease, LimitKind } from './leased-limiter.ts';
import type { Rate } from '../access/rate-limit.ts';
import { keepRevocations } from './revocations.ts';
import { createValkeyLeases, type LeaseCounts } from './valkey-leases.ts';

/** What a process shares with other gateways, other workers, or both. */
export interface Sharing {
  /** Undefined if it shares no limits. */
  readonly leases: ((kind: LimitKind, rate: Rate) => AskLease) | undefined;
  /** Undefined if no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
  /** Undefined without Valkey. */
  readonly counters: (() => ValkeyCounters) | undefined;
}

/** What a replica shares through Valkey, over one connection for leases and one for revocations. */
export interface ValkeyState extends Sharing {
  readonly revocations: { readonly known: boolean };
  readonly counters: () => ValkeyCounters;
  /** To be called when the key records have changed. */
  setServices(services: GatewayConfig['services']): void;
  close(): void;
}

const NO_LEASES: LeaseCounts = { granted: 0, refused: 0, unanswered: 0 };

/** Connects to Valkey in the background; undefined if none is configured. */
export function openValkeyState(
  config: GatewayConfig,
  options: {
    /** Gets the ids of all revoked keys, also if only `revocations.known` has changed. */
    readonly onRevoked: (keyIds: ReadonlySet<string>) => void;
    readonly observe: Observe;
  },
): ValkeyState | undefined {
  const { valkey } = config;
  let { services } = config;
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
  const hasRecord = (keyId: string): boolean =>
    services.some(({ keys }) => keys.some((record) => record.keyId === keyId));
  let before: ReadonlySet<string> = new Set();
  const revocations = keepRevocations({
    valkey,
    hasRecord,
    onChange({ revoked }) {
      const added = [...revoked].filter((keyId) => !before.has(keyId) && hasRecord(keyId));
      before = revoked;
      options.onRevoked(revoked);
      if (added.length > 0) observe({ event: 'keys_revoked', key_ids: added });
    },
    onUnknown: (reason) => observe({ event: 'revocations_unknown', message: `Valkey: ${reason}` }),
  });
  return {
    leases: leases && ((kind, rate) => leases.of(kind, rate)),
    revocations,
    counters: () => ({
      up: revocations.up && leases?.up !== false,
      leases: leases?.counts ?? NO_LEASES,
    }),
    setServices(next) {
      services = next;
      revocations.recordsChanged();
    },
    close() {
      leases?.close();
      revocations.close();
    },
  };
}
