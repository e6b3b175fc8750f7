import type { GatewayConfig } from '../config/model.ts';
import type { ReplicaChange, ReplicaState, SessionJoined } from './session-messages.ts';

/** What a worker asks its primary: a line each, and what it is answered. Everything crosses by structured clone. */
export interface Questions {
  /** The first: from its answer on the worker belongs to the replica. */
  readonly start: { readonly question: undefined; readonly answer: StartOrder };
  /** Where to listen for the calls of siblings. */
  readonly sibling_socket: { readonly question: undefined; readonly answer: string };
  /** Of a worker that listens there: what there is of siblings and their agents. Changes follow right behind. */
  readonly replica_state: { readonly question: { readonly path: string }; readonly answer: ReplicaState };
}

/** What a worker tells its primary. */
export interface WorkerMessages {
  /** It takes connections. */
  readonly listening: { readonly address: string; readonly port: number };
  readonly session_joined: SessionJoined;
  readonly session_left: { readonly connId: string };
}

/** What the primary tells a worker, or all of them. */
export interface PrimaryMessages {
  readonly shut_down: { readonly signal: string };
  readonly replica_changed: ReplicaChange;
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
