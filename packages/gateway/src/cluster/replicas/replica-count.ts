import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { errorText } from '@svc/edge';
import type { GatewayConfig } from '../../config/model.ts';
import type { Observe } from '../../telemetry/events.ts';
import type { ReplicaCount } from '../replica.ts';

export interface ReplicaCountOptions {
  readonly observe: Observe;
  /** All addresses of a name; rejects where it cannot be looked up. */
  readonly resolve?: (name: string) => Promise<readonly LookupAddress[]>;
}

const INTERVAL_MS = 5000;
/** As many links as an agent holds at most, where its file says nothing else: a name with more is no gateway's. */
const MOST = 64;

/** Of a number, or of a name that has one address for each replica. */
export function createReplicaCount(
  replicas: GatewayConfig['replicas'],
  options: ReplicaCountOptions,
): ReplicaCount {
  if (typeof replicas === 'number') return { current: replicas, onChange: () => {}, close: () => {} };
  return countAddresses(replicas.dnsName, options);
}

/**
 * Counts the addresses of a name again and again. What cannot be looked up, or has no address, leaves the last count: a
 * name server that is down must not make agents leave the replicas that they are linked to.
 */
function countAddresses(name: string, { observe, resolve = lookupAll }: ReplicaCountOptions): ReplicaCount {
  const listeners: ((count: number) => void)[] = [];
  let current = 1;
  let lost = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function count(): Promise<void> {
    const startedAt = performance.now();
    let found = 0;
    let reason = 'the name has no address';
    try {
      found = distinct(await resolve(name));
    } catch (error) {
      reason = errorText(error);
    }
    if (closed) return;
    if (found > 0) take(Math.min(found, MOST));
    else if (!lost) {
      lost = true;
      observe({ event: 'replicas_lookup_failed', name, reason, replicas: current });
    }
    timer = setTimeout(again, Math.max(0, INTERVAL_MS - (performance.now() - startedAt)));
  }

  function again(): void {
    void count();
  }

  function take(found: number): void {
    if (lost) observe({ event: 'replicas_lookup_back', name, replicas: found });
    lost = false;
    if (found === current) return;
    const before = current;
    current = found;
    observe({ event: 'fleet_changed', replicas: found, replicas_before: before });
    for (const listener of listeners) listener(found);
  }

  again();
  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.push(listener);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Where replicas have addresses of both families, each has one of either. */
function distinct(addresses: readonly LookupAddress[]): number {
  const ofFamily = (family: number): number =>
    new Set(addresses.filter((one) => one.family === family).map(({ address }) => address)).size;
  return Math.max(ofFamily(4), ofFamily(6));
}

function lookupAll(name: string): Promise<readonly LookupAddress[]> {
  return lookup(name, { all: true });
}
