import type { LinkCounts } from '../telemetry/metrics.ts';
import type { HandleCall } from './handle-call.ts';

/** What a link offers: what the agent signs, and what handles its calls. */
export interface LinkOffer {
  /** SHA-256 of the description that is served, in hex. */
  readonly manifestSha256: string;
  /** How many calls the agent takes at once. */
  readonly maxInflight: number;
  /** Whether an answer may have a cursor. */
  readonly hasPages: boolean;
  readonly handle: HandleCall;
}

export interface Renewal {
  /** Resolves when all links have this offer or a newer one, or when the time is up; counts those that do and do not. */
  renewed(withinMs: number): Promise<{ readonly replaced: number; readonly waiting: number }>;
  /** Resolves when no connection with an earlier offer is left. */
  readonly over: Promise<void>;
}

/** The links over which calls reach the agent. */
export interface AgentLinks {
  readonly counts: LinkCounts;
  /** Replaces the links by links with another offer; the old ones end when their calls are answered. */
  renew(offer: LinkOffer): Renewal;
  /** The databases of the agent may be in other states than the gateways were told. */
  databasesChanged(): void;
  /** Takes no further call; every link answers its calls in flight and ends. */
  stop(): Promise<void>;
}
