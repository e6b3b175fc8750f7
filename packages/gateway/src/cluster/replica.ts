import type { WorkerChannel } from './channel.ts';
import type { ReplicaCount } from './replica-count.ts';

/** What the replica gives a serving process: one of each, however many processes serve. */
export interface Replica {
  /** New for each start of the replica. */
  readonly id: string;
  /** Which process this is, from 0; undefined for the only one. */
  readonly worker: number | undefined;
  /** How many processes serve. */
  readonly workers: number;
  /** The age of the replica when this process started. */
  readonly ageMs: number;
  /** 32 bytes that sign the ids of MCP sessions. */
  readonly sessionSecret: Uint8Array;
  /** The count of the primary; absent in the only process, which counts itself. */
  readonly replicaCount?: ReplicaCount;
  /** To the primary; absent in the only process, which has no primary to ask. */
  readonly channel?: WorkerChannel;
}

/** For a replica that is one process. */
export function createOnlyProcess(id: string, sessionSecret: Uint8Array): Replica {
  return { id, worker: undefined, workers: 1, ageMs: 0, sessionSecret };
}
