import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { errorText } from '@svc/edge';
import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import type { PrimaryChannel, WorkerChannel } from './channel.ts';

/** How many replicas of the gateway there are, according to its own configuration. */
export interface ReplicaCount {
  readonly current: number;
  onChange(listener: (count: number) => void): void;
  close(): void;
}

export interface ReplicaCountOptions {
  readonly observe: Observe;
  /** All addresses of a name; rejects if it cannot be looked up. */
  readonly resolve?: (name: string) => Promise<readonly LookupAddress[]>;
}

const INTERVAL_MS = 5000;
/** As many links as an agent holds at most by default: a name with more addresses is not that of a gateway. */
const REPLICAS_MAX = 64;
/** By default: each link costs an agent memory, and with four few calls need a second hop. */
const LINKS_PER_REPLICA_MAX = 4;

/** Each link of an agent leads to another worker. */
export function linksPerReplicaOf({
  linksPerReplica = LINKS_PER_REPLICA_MAX,
  workers,
}: GatewayConfig): number {
  return Math.min(linksPerReplica, workers);
}

/** Whether agents may be told to hold more than one link. */
export function isFleet(config: GatewayConfig): boolean {
  return config.replicas !== 1 || linksPerReplicaOf(config) > 1;
}

/** A fixed number, or the addresses of a name that has one for each replica. */
export function createReplicaCount(
  replicas: GatewayConfig['replicas'],
  options: ReplicaCountOptions,
): ReplicaCount {
  return typeof replicas === 'number' ? createCount(replicas) : countAddresses(replicas.dnsName, options);
}

/** In the primary: tells each worker that joins, and all workers when the count changes. */
export function shareReplicaCount(channel: PrimaryChannel, count: ReplicaCount): void {
  channel.onJoin((worker) => channel.send(worker, 'replica_count', { count: count.current }));
  count.onChange((to) => channel.broadcast('replica_count', { count: to }));
}

/** In a worker: the count of the primary. */
export function followReplicaCount(
  channel: WorkerChannel,
  replicas: GatewayConfig['replicas'],
): ReplicaCount {
  const followed = createCount(typeof replicas === 'number' ? replicas : 1);
  channel.on('replica_count', ({ count }) => followed.set(count));
  return followed;
}

function createCount(initial: number): ReplicaCount & { set(count: number): void } {
  const listeners: ((count: number) => void)[] = [];
  let current = initial;
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => {},
    set(count) {
      if (count === current) return;
      current = count;
      for (const listener of listeners) listener(count);
    },
  };
}

/**
 * Looks up a name again and again and counts its addresses. While it cannot be looked up, or has no address, the last
 * count holds: a name server that is down must not make agents leave the replicas that they are linked to.
 */
function countAddresses(name: string, { observe, resolve = lookupAll }: ReplicaCountOptions): ReplicaCount {
  const count = createCount(1);
  let lost = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function look(): Promise<void> {
    const startedAt = performance.now();
    let found = 0;
    let reason = 'the name has no address';
    try {
      found = distinct(await resolve(name));
    } catch (error) {
      reason = errorText(error);
    }
    if (closed) return;
    if (found > 0) take(Math.min(found, REPLICAS_MAX));
    else if (!lost) {
      lost = true;
      observe({ event: 'replicas_lookup_failed', name, reason, replicas: count.current });
    }
    timer = setTimeout(() => void look(), Math.max(0, INTERVAL_MS - (performance.now() - startedAt)));
  }

  function take(found: number): void {
    if (lost) observe({ event: 'replicas_lookup_back', name, replicas: found });
    lost = false;
    const before = count.current;
    if (found !== before) observe({ event: 'fleet_changed', replicas: found, replicas_before: before });
    count.set(found);
  }

  void look();
  return {
    get current() {
      return count.current;
    },
    onChange: (listener) => count.onChange(listener),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Replicas with addresses of both families have one of each. */
function distinct(addresses: readonly LookupAddress[]): number {
  const ofFamily = (family: number): number =>
    new Set(addresses.filter((one) => one.family === family).map(({ address }) => address)).size;
  return Math.max(ofFamily(4), ofFamily(6));
}

function lookupAll(name: string): Promise<readonly LookupAddress[]> {
  return lookup(name, { all: true });
}
