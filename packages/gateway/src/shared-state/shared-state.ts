import type { Rate } from '../access/rate-limit.ts';
import type { AskLease, LimitKind } from './leased-limiter.ts';

/** What a process that serves shares with others: other gateways, other workers, or both. */
export interface SharedState {
  /** Undefined where it keeps its limits alone. */
  readonly leases: ((kind: LimitKind, rate: Rate) => AskLease) | undefined;
  /** Undefined where no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
}

/** One process, no Valkey. */
export const ALONE: SharedState = { leases: undefined, revocations: undefined };
