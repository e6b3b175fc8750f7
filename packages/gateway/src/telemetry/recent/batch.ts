import type { GatewayEvent, RequestEvent } from '../events.ts';

/** The length of one step of the figures. */
export const STEP_MS = 5000;
/** How many requests are kept as they were recorded. */
export const RECORDS_MAX = 1000;

/** What a serving process has seen since its last batch. Between processes it crosses by structured clone. */
export interface Batch {
  /** On the monotonic clock of the machine, which all its processes share and which is never set back. */
  readonly step: number;
  readonly total: Counted;
  readonly capabilities: readonly CountedCapability[];
  readonly keys: readonly CountedKey[];
  /** The oldest first. */
  readonly records: readonly TimedRequest[];
  /** Records that newer ones of the same batch have replaced. */
  readonly dropped: number;
  readonly links: readonly LinkChange[];
  readonly state: ProcessState;
}

export interface Counted {
  readonly calls: number;
  readonly errors: number;
  /** Empty for none. */
  readonly lastError: string;
  readonly latency: Uint32Array;
}

export interface CountedCapability extends Counted {
  /** Empty if there is only the default service. */
  readonly service: string;
  readonly capability: string;
}

export interface CountedKey {
  readonly service: string;
  readonly name: string;
  readonly requests: number;
  readonly last: Moment;
}

/** When something was seen. */
export interface Moment {
  /** On the monotonic clock of the machine: for the order of moments. */
  readonly atMs: number;
  /** Since 1970, on the system's clock: for display. */
  readonly timeMs: number;
}

export interface TimedRequest extends Moment {
  readonly event: RequestEvent;
}

export interface LinkChange {
  readonly timeMs: number;
  readonly event: Extract<GatewayEvent, { event: 'agent_connected' | 'agent_disconnected' }>;
}

/** The state when a batch is made. */
export interface ProcessState {
  /** For links of this process that have calls. */
  readonly inFlight: readonly (readonly [connId: string, calls: number])[];
  /** Of all services; undefined if they have not changed since the last batch. */
  readonly offers: readonly ServiceOffers[] | undefined;
}

export interface ServiceOffers {
  readonly service: string;
  readonly capabilities: readonly string[];
  readonly offers: readonly {
    readonly instanceId: string;
    /** Of the capability file. */
    readonly version: string;
    readonly keyId: string;
    readonly capabilities: readonly string[];
  }[];
}

const NS_PER_MS = 1_000_000n;
/** The start of `performance.now` in this process, on the clock that all processes of the machine share. */
const startedAtMs = Number(process.hrtime.bigint() / NS_PER_MS) - performance.now();

/** In milliseconds, the same in all processes of the machine, and unaffected when the system's clock is set. */
export function monotonicClock(): number {
  return startedAtMs + performance.now();
}
