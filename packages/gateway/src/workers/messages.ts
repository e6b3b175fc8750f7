import type { GatewayConfig } from '../config/model.ts';

/** What a worker asks its primary: a line each, and what it is answered. Everything crosses by structured clone. */
export interface Questions {
  /** The first: from its answer on the worker belongs to the replica. */
  readonly start: { readonly question: undefined; readonly answer: StartOrder };
}

/** What a worker tells its primary. */
export interface WorkerMessages {
  /** It takes connections. */
  readonly listening: { readonly address: string; readonly port: number };
}

/** What the primary tells a worker, or all of them. */
export interface PrimaryMessages {
  readonly shut_down: { readonly signal: string };
  /** How many replicas of the gateway there are from now on. */
  readonly replica_count: { readonly count: number };
}

/** All that a worker has to know before it serves; what changes comes right behind it, from the listeners of `onJoin`. */
export interface StartOrder {
  readonly config: GatewayConfig;
  readonly replicaId: string;
  readonly sessionSecret: Uint8Array;
  readonly workers: number;
}
