import { RESULT_MAX_BYTES } from '@svc/protocol';
import type { AgentConfig } from '../config/model.ts';
import { createCallerLoads, type CallerLoads } from './caller-loads.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from './concurrency-limit.ts';
import { createResultMemory, type ResultMemory } from './result-memory.ts';

interface Admission {
  readonly callerLoads: CallerLoads;
  readonly concurrencyLimit: ConcurrencyLimit;
  readonly resultMemory: ResultMemory;
}

/** Each database has its own slots, queue and memory: a database that hangs would use up shared ones. */
export interface Admissions {
  of(database: string): Admission;
  /** Changes the bounds, and forgets databases other than these. */
  resize(running: number, queued: number, databases: readonly string[]): void;
  /** Slots taken, for all databases. */
  readonly running: number;
  /** Calls that wait for a slot. */
  readonly queued: number;
}

export function createAdmissions({
  maxConcurrentRequests,
  queueSize,
}: Pick<AgentConfig['runtime'], 'maxConcurrentRequests' | 'queueSize'>): Admissions {
  const admissions = new Map<string, Admission>();
  let bounds: readonly [running: number, queued: number] = [maxConcurrentRequests, queueSize];

  function add(database: string): Admission {
    const admission = {
      callerLoads: createCallerLoads(),
      concurrencyLimit: createConcurrencyLimit(...bounds),
      resultMemory: createResultMemory(RESULT_MAX_BYTES),
    };
    admissions.set(database, admission);
    return admission;
  }

  function sum(of: (limit: ConcurrencyLimit) => number): number {
    let all = 0;
    for (const { concurrencyLimit } of admissions.values()) all += of(concurrencyLimit);
    return all;
  }

  return {
    of: (database) => admissions.get(database) ?? add(database),
    resize(changedRunning, changedQueued, databases) {
      bounds = [changedRunning, changedQueued];
      for (const [name, { concurrencyLimit }] of admissions) {
        concurrencyLimit.resize(...bounds);
        if (!databases.includes(name)) admissions.delete(name);
      }
    },
    get running() {
      return sum((limit) => limit.running);
    },
    get queued() {
      return sum((limit) => limit.queued);
    },
  };
}
