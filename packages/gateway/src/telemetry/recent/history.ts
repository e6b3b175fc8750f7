import { RECORDS_MAX, type Batch, type Moment, type ServiceOffers, type TimedRequest } from './batch.ts';
import { createBusiest, createSeries, type CallSeries } from './busiest.ts';

/** What the console shows of a replica: the last quarter of an hour, in memory. */
export interface History {
  /** `worker` is undefined for the only process. */
  add(batch: Batch, worker?: number): void;
  /** The worker is gone, with all of its links. */
  left(worker: number): void;
  readonly total: CallSeries;
  readonly capabilities: Iterable<CallSeries>;
  /** The newest first. */
  readonly records: readonly KeptRecord[];
  readonly dropped: number;
  useOf(service: string, key: string): KeyUse | undefined;
  readonly links: Iterable<KnownLink>;
  readonly offers: readonly ServiceOffers[];
}

export interface KeptRecord extends TimedRequest {
  /** Newer ones have greater numbers. */
  readonly id: number;
}

interface KeyUse {
  readonly requests: number;
  readonly last: Moment;
}

interface KnownLink {
  readonly service: string | undefined;
  readonly instanceId: string;
  readonly keyId: string;
  readonly source: string;
  readonly sinceMs: number;
  readonly capabilities: number;
  readonly inFlight: number;
}

/** Including keys that have been removed. */
const KEYS_MAX = 20_000;

export function createHistory(): History {
  const total = createSeries('', '');
  const busiest = createBusiest();
  const records: KeptRecord[] = [];
  const keys = new Map<string, KeyUse>();
  const links = new Map<string, KnownLink & { readonly worker: number | undefined; inFlight: number }>();
  let offers: readonly ServiceOffers[] = [];
  let lastId = 0;
  let dropped = 0;

  function keep({ atMs, timeMs, event }: TimedRequest): void {
    const record = { id: ++lastId, atMs, timeMs, event };
    if (records.length < RECORDS_MAX) records.push(record);
    else records[(lastId - 1) % RECORDS_MAX] = record;
  }

  function addLink({ timeMs, event }: Batch['links'][number], worker: number | undefined): void {
    if (event.event === 'agent_disconnected') {
      links.delete(event.conn_id);
      return;
    }
    const { service, conn_id: connId, instance_id: instanceId, key_id: keyId, source, capabilities } = event;
    const link = { service, instanceId, keyId, source, capabilities, sinceMs: timeMs, inFlight: 0, worker };
    links.set(connId, link);
  }

  return {
    add(batch, worker) {
      const { step, state } = batch;
      total.add(step, batch.total);
      for (const counted of batch.capabilities) busiest.add(step, counted);
      for (const { service, name, requests, last } of batch.keys) {
        const id = `${service} ${name}`;
        const use = keys.get(id);
        if (use === undefined && keys.size >= KEYS_MAX) continue;
        const newest = use !== undefined && use.last.atMs > last.atMs ? use.last : last;
        keys.set(id, { requests: (use?.requests ?? 0) + requests, last: newest });
      }
      for (const record of batch.records) keep(record);
      dropped += batch.dropped;
      for (const change of batch.links) addLink(change, worker);
      for (const link of links.values()) if (link.worker === worker) link.inFlight = 0;
      for (const [connId, calls] of state.inFlight) {
        const link = links.get(connId);
        if (link !== undefined) link.inFlight = calls;
      }
      if (state.offers !== undefined) ({ offers } = state);
    },
    left(worker) {
      for (const [connId, link] of links) if (link.worker === worker) links.delete(connId);
    },
    total,
    get capabilities() {
      return busiest.all;
    },
    get records() {
      // Batches of several processes overlap in time.
      return records.toSorted((a, b) => b.atMs - a.atMs || b.id - a.id);
    },
    get dropped() {
      return dropped;
    },
    useOf: (service, key) => keys.get(`${service} ${key}`),
    get links() {
      return links.values();
    },
    get offers() {
      return offers;
    },
  };
}
