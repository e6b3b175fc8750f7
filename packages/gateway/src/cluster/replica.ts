import type { WorkerChannel } from './channel.ts';

/** What a serving process takes from its replica: of each there is one, however many processes serve. */
export interface Replica {
  /** New for each start of the replica. */
  readonly id: string;
  /** Which process this is, from 0; undefined for the only one. */
  readonly worker: number | undefined;
  /** How many processes serve. */
  readonly workers: number;
  /** How long it had been there when this process started. */
  readonly ageMs: number;
  /** 32 bytes that sign the ids of MCP sessions. */
  readonly sessionSecret: Uint8Array;
  /** As the primary counts; absent for the only process, which counts itself. */
  readonly replicaCount?: ReplicaCount;
  /** To the primary; absent for the only process, which has all there is to ask for. */
  readonly channel?: WorkerChannel;
}

/** How many replicas of the gateway there are, by its own configuration. */
export interface ReplicaCount {
  readonly current: number;
  onChange(listener: (count: number) => void): void;
  close(): void;
}

/** Of a replica that is one process. */
export function createOnlyProcess(id: string, sessionSecret: Uint8Array): Replica {
  return { id, worker: undefined, workers: 1, ageMs: 0, sessionSecret };
}
