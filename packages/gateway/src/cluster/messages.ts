import type { MetricsSnapshot } from '@svc/edge';
import type { KeysAnswer, ShownKeys } from '@svc/identity';
import type { KnownForms } from '../auth/api-keys/known-forms.ts';
import type { KeyAnswer, KeyQuestion } from '../auth/api-keys/remote-authenticator.ts';
import type { LoanQuestion, Pool } from './memory/loan.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import type { Batch } from '../telemetry/recent/batch.ts';
import type { GatewayConfig, ServiceConfig } from '../config/model.ts';
import type { ReplicaChange, ReplicaState, SessionDatabases, SessionJoined } from './session-messages.ts';

/** What a worker asks its primary: a line each, and what it is answered. Everything crosses by structured clone. */
export interface Questions {
  /** The first: from its answer on the worker belongs to the replica. */
  readonly start: { readonly question: { readonly version: string }; readonly answer: StartOrder };
  /** Tokens of a limit that all workers keep together; undefined where there is none. */
  readonly tokens: { readonly question: TokenQuestion; readonly answer: Grant | undefined };
  /** Whether a principal may have one more call under way; it is counted until it ends, or the worker does. */
  readonly call: { readonly question: { readonly principalId: string }; readonly answer: boolean };
  /** Where to listen for calls that come over the console. */
  readonly console_socket: { readonly question: undefined; readonly answer: string };
  /** Where to listen for the calls of siblings. */
  readonly sibling_socket: { readonly question: undefined; readonly answer: string };
  /** Of a worker that listens there: what there is of siblings and their agents. Changes follow right behind. */
  readonly replica_state: { readonly question: { readonly path: string }; readonly answer: ReplicaState };
  /** What keys an issuer has; where that is not enough, it is asked `again`, unless it was a moment ago. */
  readonly issuer_keys: {
    readonly question: { readonly id: string; readonly again: boolean };
    readonly answer: KeysAnswer;
  };
  /** Memory beyond what is lent to it. */
  readonly loan: { readonly question: LoanQuestion; readonly answer: boolean };
  /** Whose key this is. */
  readonly key: { readonly question: KeyQuestion; readonly answer: KeyAnswer };
}

/** What a worker tells its primary. */
export interface WorkerMessages {
  /** A call for which it asked has ended. */
  readonly call_ended: { readonly principalId: string };
  /** It takes connections. */
  readonly listening: Listening;
  /** It ends, since it cannot listen. */
  readonly cannot_start: { readonly reason: string };
  /** Every second, for as long as its event loop turns. */
  readonly alive: undefined;
  /** All of its metrics: when they are wanted, now and then, and at its end. */
  readonly metrics: MetricsSnapshot;
  /** What the console shows: when it is wanted, now and then, and at its end. */
  readonly recent: Batch;
  /** It listens for calls that come over the console. */
  readonly console_reachable: { readonly path: string };
  readonly loan_back: { readonly pool: Pool; readonly steps: number };
  /** What a service describes now. */
  readonly snapshot: { readonly service: string; readonly bytes: Uint8Array };
  /** A client cancels its call of this name, wherever it is under way. */
  readonly mcp_cancel: { readonly call: string };
  readonly mcp_counted: { readonly id: number; readonly count: number };
  /** An agent there has proved who it is. */
  readonly source_known: { readonly source: string };
  /** What all workers see alike, and one record tells. */
  readonly seen_by_all: GatewayEvent;
  /** It has begun to shut down. */
  readonly draining: { readonly in_flight: number };
  readonly session_joined: SessionJoined;
  /** A worker can send calls to a session that has joined. */
  readonly session_reached: { readonly connId: string };
  readonly session_left: { readonly connId: string };
  readonly session_databases: SessionDatabases;
}

/** What the primary tells a worker, or all of them. */
export interface PrimaryMessages {
  /** Whether the list of revoked keys has been read. */
  readonly revocations: { readonly known: boolean };
  /** Records of keys came, changed or went: these count no more, and keys of other forms than these have none. */
  readonly records_changed: { readonly retired: readonly string[]; readonly forms: KnownForms };
  /** Another worker waits for memory: what is not used is to be given back at once. */
  readonly loans_wanted: { readonly pool: Pool };
  /** How many calls of this name are under way there? */
  readonly mcp_count: { readonly id: number; readonly call: string };
  readonly mcp_abort: { readonly call: string };
  readonly source_known: { readonly source: string };
  /** An issuer was asked for its keys: those that it has from now on. */
  readonly issuer_keys: { readonly id: string; readonly keys: ShownKeys };
  readonly metrics_wanted: undefined;
  readonly recent_wanted: undefined;
  readonly shut_down: { readonly signal: string };
  readonly replica_changed: ReplicaChange;
  /** The services from now on, as their files have changed. */
  readonly services: { readonly services: readonly ServiceConfig[] };
  /** How many replicas of the gateway there are from now on. */
  readonly replica_count: { readonly count: number };
}

interface TokenQuestion {
  readonly kind: 'source' | 'principal';
  readonly bucket: string;
  readonly least: number;
  readonly most: number;
}

interface Grant {
  readonly granted: number;
  readonly aheadMs: number;
}

export interface Listening {
  readonly url: string;
  readonly address: string;
  readonly port: number;
}

/** All that a worker has to know before it serves; what changes comes right behind it, from the listeners of `onJoin`. */
export interface StartOrder {
  readonly config: GatewayConfig;
  readonly replicaId: string;
  readonly sessionSecret: Uint8Array;
  readonly workers: number;
  /** How long the replica has been there: other workers may have been serving for all of it. */
  readonly ageMs: number;
}
