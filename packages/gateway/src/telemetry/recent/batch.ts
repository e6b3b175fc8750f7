import type { GatewayEvent, RequestEvent } from '../events.ts';

/** How long one step of the figures is. */
export const STEP_MS = 5000;
/** Requests that are kept as they were recorded. */
export const RECORDS_MAX = 1000;

/** What a serving process has seen since its last batch. Between processes it crosses by structured clone. */
export interface Batch {
  /** Of the monotonic clock of the machine, which all its processes share: the system's clock may be set back. */
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
  /** Empty where there is only the default one. */
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
  /** By the monotonic clock of the machine: the order of moments. */
  readonly atMs: number;
  /** Since 1970, by the system's clock: what is shown. */
  readonly timeMs: number;
}

export interface TimedRequest extends Moment {
  readonly event: RequestEvent;
}

/** Of a link of an agent. */
export interface LinkChange {
  readonly timeMs: number;
  readonly event: Extract<GatewayEvent, { event: 'agent_connected' | 'agent_disconnected' }>;
}

/** What is so when a batch is made. */
export interface ProcessState {
  /** Of the links of this process that have calls. */
  readonly inFlight: readonly (readonly [connId: string, calls: number])[];
  /** Of all services; undefined where it has not changed since it was last asked for. */
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
/** When `performance.now` began in this process, on the clock that all processes of the machine share. */
const startedAtMs = Number(process.hrtime.bigint() / NS_PER_MS) - performance.now();

/** In milliseconds, the same in all processes of the machine. Setting the system's clock does not move it. */
export function monotonicClock(): number {
  return startedAtMs + performance.now();
}
