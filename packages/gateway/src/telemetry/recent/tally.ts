import type { Observe, RequestEvent } from '../events.ts';
import {
  RECORDS_MAX,
  STEP_MS,
  type Batch,
  type CountedCapability,
  type CountedKey,
  type LinkChange,
  type Moment,
  type ProcessState,
  type TimedRequest,
} from './batch.ts';
import { LATENCY_BUCKETS, latencyBucket } from './latency-buckets.ts';

/** Counts the events of one process for the console. A call costs a few counters and one place in a list. */
export interface Tally {
  readonly observe: Observe;
  /** Passes on what has been counted since the last time. */
  flush(): void;
}

export interface TallyOptions {
  /** Whether an agent of the service, connected or away, has this capability: callers cannot invent others. */
  readonly isCapability: (name: string, service: string | undefined) => boolean;
  readonly state: () => ProcessState;
  readonly onBatch: (batch: Batch) => void;
  readonly wallClock: () => number;
  /** The monotonic clock of the machine, in milliseconds. */
  readonly now: () => number;
}

/** Routes without calls: probes, and links of agents. */
const UNKEPT: ReadonlySet<string> = new Set([
  '',
  '/healthz',
  '/readyz',
  '/s/{service}/readyz',
  '/ws/agent',
  '/console/',
]);

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };
type CountingKey = Writable<Omit<CountedKey, 'last'>> & { readonly last: Writable<Moment> };

export function createTally({ isCapability, state, onBatch, wallClock, now }: TallyOptions): Tally {
  let total = newCounts('', '');
  const capabilities = new Map<string, Map<string, Writable<CountedCapability>>>();
  const keys = new Map<string, Map<string, CountingKey>>();
  let events: RequestEvent[] = [];
  const times = new Float64Array(RECORDS_MAX);
  const moments = new Float64Array(RECORDS_MAX);
  let oldest = 0;
  let dropped = 0;
  let links: LinkChange[] = [];
  let step = Math.floor(now() / STEP_MS);

  function countsOf(service: string, capability: string): Writable<CountedCapability> | undefined {
    const ofService = within(capabilities, service);
    const known = ofService.get(capability);
    if (known !== undefined) return known;
    if (!isCapability(capability, service === '' ? undefined : service)) return undefined;
    const created = newCounts(service, capability);
    ofService.set(capability, created);
    return created;
  }

  function keep(atMs: number, timeMs: number, event: RequestEvent): void {
    if (events.length < RECORDS_MAX) {
      moments[events.length] = atMs;
      times[events.length] = timeMs;
      events.push(event);
      return;
    }
    moments[oldest] = atMs;
    times[oldest] = timeMs;
    events[oldest] = event;
    oldest = oldest === RECORDS_MAX - 1 ? 0 : oldest + 1;
    dropped++;
  }

  function countKey(atMs: number, timeMs: number, service: string, name: string): void {
    const ofService = within(keys, service);
    const counted = ofService.get(name);
    if (counted === undefined) {
      ofService.set(name, { service, name, requests: 1, last: { atMs, timeMs } });
      return;
    }
    counted.requests++;
    counted.last.atMs = atMs;
    counted.last.timeMs = timeMs;
  }

  /** The oldest first. */
  function records(): readonly TimedRequest[] {
    const all = events.map((event, at): TimedRequest => ({
      atMs: moments[at] ?? 0,
      timeMs: times[at] ?? 0,
      event,
    }));
    return [...all.slice(oldest), ...all.slice(0, oldest)];
  }

  function flush(): void {
    onBatch({
      step,
      total,
      capabilities: [...capabilities.values()].flatMap((ofService) => [...ofService.values()]),
      keys: [...keys.values()].flatMap((ofService) => [...ofService.values()]),
      records: records(),
      dropped,
      links,
      state: state(),
    });
    total = newCounts('', '');
    capabilities.clear();
    keys.clear();
    events = [];
    oldest = 0;
    dropped = 0;
    links = [];
    step = Math.floor(now() / STEP_MS);
  }

  /** Returns the time. Passes on an earlier step first, so that there is never more than one. */
  function nowInStep(): number {
    const atMs = now();
    if (Math.floor(atMs / STEP_MS) !== step) flush();
    return atMs;
  }

  return {
    flush,
    observe(event) {
      if (event.event === 'request') {
        const { route } = event;
        if (UNKEPT.has(route)) return;
        const atMs = nowInStep();
        const timeMs = wallClock();
        keep(atMs, timeMs, event);
        const service = event.service ?? '';
        if (event.api_key_name !== '') countKey(atMs, timeMs, service, event.api_key_name);
        if (event.capability === '') {
          if (!isCall(event)) return;
        } else count(countsOf(service, event.capability), event);
        count(total, event);
      } else if (event.event === 'agent_connected' || event.event === 'agent_disconnected') {
        // First, since it may begin a new list.
        nowInStep();
        links.push({ timeMs: wallClock(), event });
      }
    },
  };
}

/** Whether it is a call that was refused before its capability was known. */
function isCall({ route, mcp_method: mcpMethod }: RequestEvent): boolean {
  return route.endsWith('/{name}') || mcpMethod === 'tools/call';
}

function count(counts: Writable<CountedCapability> | undefined, event: RequestEvent): void {
  if (counts === undefined) return;
  counts.calls++;
  const bucket = latencyBucket(event.duration_ms);
  counts.latency[bucket] = (counts.latency[bucket] ?? 0) + 1;
  if (event.error_code === '') return;
  counts.errors++;
  counts.lastError = event.error_code;
}

function newCounts(service: string, capability: string): Writable<CountedCapability> {
  const latency = new Uint32Array(LATENCY_BUCKETS);
  return { service, capability, calls: 0, errors: 0, lastError: '', latency };
}

function within<T>(maps: Map<string, Map<string, T>>, name: string): Map<string, T> {
  const known = maps.get(name);
  if (known !== undefined) return known;
  const created = new Map<string, T>();
  maps.set(name, created);
  return created;
}
