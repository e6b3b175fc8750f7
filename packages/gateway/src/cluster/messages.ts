import type { MetricsSnapshot } from '@svc/edge';
import type { KeysAnswer, ShownKeys } from '@svc/identity';
import type { DatabaseState } from '@svc/protocol';
import type { KnownForms } from '../auth/api-keys/known-forms.ts';
import type { KeyAnswer, KeyQuestion } from '../auth/api-keys/remote-authenticator.ts';
import type { LoanQuestion, Pool } from './memory/loan.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import type { Batch } from '../telemetry/recent/batch.ts';
import type { GatewayConfig, ServiceConfig } from '../config/model.ts';

/** What a worker asks its primary, and the answers. All messages cross by structured clone. */
export interface Questions {
  /** The first question. With the answer the worker has joined the replica. */
  readonly start: { readonly question: { readonly version: string }; readonly answer: StartOrder };
  /** Tokens of a rate limit that all workers share; undefined if there is no such limit. */
  readonly tokens: { readonly question: TokenQuestion; readonly answer: Grant | undefined };
  /** Whether a principal may have one more call under way; it is counted until it ends, or the worker does. */
  readonly call: { readonly question: { readonly principalId: string }; readonly answer: boolean };
  /** Where to listen for calls that come over the console. */
  readonly console_socket: { readonly question: undefined; readonly answer: string };
  /** Where to listen for the calls of siblings. */
  readonly sibling_socket: { readonly question: undefined; readonly answer: string };
  /** From a worker that listens at `path`: its siblings and their agents. Changes follow right after the answer. */
  readonly replica_state: { readonly question: { readonly path: string }; readonly answer: ReplicaState };
  /** The keys of an issuer. `again`: they are fetched again first, unless that happened a moment ago. */
  readonly issuer_keys: {
    readonly question: { readonly id: string; readonly again: boolean };
    readonly answer: KeysAnswer;
  };
  /** More memory. */
  readonly loan: { readonly question: LoanQuestion; readonly answer: boolean };
  /** The owner of a key. */
  readonly key: { readonly question: KeyQuestion; readonly answer: KeyAnswer };
}

/** What a worker tells its primary. */
export interface WorkerMessages {
  /** A call for which the worker asked has ended. */
  readonly call_ended: { readonly principalId: string };
  /** The worker takes connections. */
  readonly listening: Listening;
  /** The worker ends because it cannot listen. */
  readonly cannot_start: { readonly reason: string };
  /** Every second, as long as the event loop turns. */
  readonly alive: undefined;
  /** All metrics of the worker: when the primary wants them, at intervals, and at the end. */
  readonly metrics: MetricsSnapshot;
  /** What the console shows: when the primary wants it, at intervals, and at the end. */
  readonly recent: Batch;
  /** The worker listens for calls that come over the console. */
  readonly console_reachable: { readonly path: string };
  readonly loan_back: { readonly pool: Pool; readonly steps: number };
  /** The present description of a service. */
  readonly snapshot: { readonly service: string; readonly bytes: Uint8Array };
  /** A client cancels its call of this name, in whichever worker it runs. */
  readonly mcp_cancel: { readonly call: string };
  readonly mcp_counted: { readonly id: number; readonly count: number };
  /** An agent at this source has proved its identity. */
  readonly source_known: { readonly source: string };
  /** An event that all workers see and that gets one record. */
  readonly seen_by_all: GatewayEvent;
  /** The worker has begun to shut down. */
  readonly draining: { readonly in_flight: number };
  readonly session_joined: SessionJoined;
  /** A worker can send calls to a session that has joined. */
  readonly session_reached: { readonly connId: string };
  readonly session_left: { readonly connId: string };
  readonly session_databases: SessionDatabases;
}

/** What the primary tells one worker or all workers. */
export interface PrimaryMessages {
  /** Whether the list of revoked keys has been read. */
  readonly revocations: { readonly known: boolean };
  /** Key records have changed: `retired` are no longer valid, and keys whose form is not among `forms` have no record. */
  readonly records_changed: { readonly retired: readonly string[]; readonly forms: KnownForms };
  /** Another worker waits for memory: give back at once what is not used. */
  readonly loans_wanted: { readonly pool: Pool };
  /** Asks how many calls of this name the worker has under way. */
  readonly mcp_count: { readonly id: number; readonly call: string };
  readonly mcp_abort: { readonly call: string };
  readonly source_known: { readonly source: string };
  /** The keys of an issuer, after each fetch. */
  readonly issuer_keys: { readonly id: string; readonly keys: ShownKeys };
  readonly metrics_wanted: undefined;
  readonly recent_wanted: undefined;
  readonly shut_down: { readonly signal: string };
  readonly replica_changed: ReplicaChange;
  /** The services, after their files have changed. */
  readonly services: { readonly services: readonly ServiceConfig[] };
  /** The number of replicas of the gateway, after it has changed. */
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

/** All that a worker must know before it serves. Changes follow right after it, from the listeners of `onJoin`. */
export interface StartOrder {
  readonly config: GatewayConfig;
  readonly replicaId: string;
  readonly sessionSecret: Uint8Array;
  readonly workers: number;
  /** The age of the replica: other workers may have been serving for that long. */
  readonly ageMs: number;
}

/** A link of an agent, as processes of the replica know it that do not hold it. */
export interface ListedSession {
  readonly service: string;
  readonly connId: string;
  readonly keyId: string;
  readonly instanceId: string;
  /** Of the description, which crosses once for all links that share it. */
  readonly digest: string;
  /** How long the description is. */
  readonly bytes: number;
  readonly protocolVersion: 1 | 2;
  readonly identity: 'token' | 'gateway' | undefined;
  /** Whether the agent keeps links to several processes of a replica. */
  readonly keepsSeveral: boolean;
  /** As in `CallableLink`. */
  readonly databases: readonly DatabaseState[] | undefined;
}

/** An agent has told of its databases over this link. */
interface SessionDatabases {
  readonly connId: string;
  readonly databases: readonly DatabaseState[];
}

/** `description`: its bytes, if the other side may not know them. */
interface SessionJoined {
  readonly session: ListedSession;
  readonly description: Uint8Array | undefined;
}

/** A change in the replica. All workers get all changes in the same order. */
export type ReplicaChange =
  /** A worker takes the calls of its siblings at that socket. */
  | { readonly type: 'sibling'; readonly worker: number; readonly path: string }
  /** A worker is gone, with all of its sessions. */
  | { readonly type: 'sibling_gone'; readonly worker: number }
  | ({ readonly type: 'joined'; readonly worker: number } & SessionJoined)
  /** All workers can send calls to the session. */
  | { readonly type: 'listed'; readonly connId: string }
  | { readonly type: 'left'; readonly connId: string }
  | ({ readonly type: 'databases' } & SessionDatabases)
  /** To the worker of the session: it must report the session again, with its description. */
  | { readonly type: 'wanted'; readonly connId: string }
  /** No offer and no session has these descriptions any more. */
  | { readonly type: 'forgotten'; readonly digests: readonly string[] };

/** What a worker that has come must know. */
export interface ReplicaState {
  readonly siblings: readonly { readonly worker: number; readonly path: string }[];
  readonly descriptions: readonly { readonly digest: string; readonly bytes: Uint8Array }[];
  /** In the order in which they came. */
  readonly offers: readonly KeptOffer[];
}

export interface KeptOffer {
  readonly service: string;
  readonly keyId: string;
  readonly instanceId: string;
  readonly digest: string;
  readonly bytes: number;
  /** Empty if the agent is away. */
  readonly sessions: readonly { readonly worker: number; readonly session: ListedSession }[];
}
