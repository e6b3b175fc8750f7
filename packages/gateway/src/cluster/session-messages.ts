import type { DatabaseState } from '@svc/protocol';

/** A link of an agent as the processes of a replica know it that do not hold it. */
export interface ListedSession {
  readonly service: string;
  readonly connId: string;
  readonly keyId: string;
  readonly instanceId: string;
  /** Of the description, by which it crosses once. */
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
export interface SessionDatabases {
  readonly connId: string;
  readonly databases: readonly DatabaseState[];
}

/** `description`: its bytes, where the other side may not know them. */
export interface SessionJoined {
  readonly session: ListedSession;
  readonly description: Uint8Array | undefined;
}

/** What happened in the replica: in the same order for each of its workers. */
export type ReplicaChange =
  /** It takes the calls of its siblings at that socket. */
  | { readonly type: 'sibling'; readonly worker: number; readonly path: string }
  /** With all of its sessions. */
  | { readonly type: 'sibling_gone'; readonly worker: number }
  | ({ readonly type: 'joined'; readonly worker: number } & SessionJoined)
  /** All workers can send it calls. */
  | { readonly type: 'listed'; readonly connId: string }
  | { readonly type: 'left'; readonly connId: string }
  | ({ readonly type: 'databases' } & SessionDatabases)
  /** To its own worker: the session is told of again, with its description. */
  | { readonly type: 'wanted'; readonly connId: string }
  /** No offer and no session has these descriptions any more. */
  | { readonly type: 'forgotten'; readonly digests: readonly string[] };

/** What there was before a worker came. */
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
  /** None of an agent that is away. */
  readonly sessions: readonly { readonly worker: number; readonly session: ListedSession }[];
}
