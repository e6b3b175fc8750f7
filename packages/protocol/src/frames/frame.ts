import type { AgentErrorCode } from '../rules/errors.ts';

/** What travels after `welcome` (PROTOCOL.md, "Frames"). `id` names a call; link-level frames have none. */
export type Frame =
  | RequestFrame
  | ResultFrame
  | DataFrame
  | ErrorFrame
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }
  | { readonly type: 'ping' | 'pong'; readonly token: number }
  | { readonly type: 'go_away'; readonly reason: string }
  | FleetFrame
  | DatabasesFrame
  | CursorFrame;

/** Gateway to agent: run a capability. `params` is the first piece of `paramsLength` bytes. */
export interface RequestFrame {
  readonly type: 'request';
  readonly id: number;
  readonly capability: string;
  /** Time that is left, in milliseconds: no clock is shared. */
  readonly timeoutMs: number;
  readonly metadata: Metadata;
  readonly paramsLength: number;
  readonly params: Uint8Array;
  readonly fin: boolean;
}

/** Agent to gateway: the rows exist. `rows` is the first piece of `rowsLength` bytes. */
export interface ResultFrame {
  readonly type: 'result';
  readonly id: number;
  readonly count: number;
  readonly truncated: boolean;
  readonly rowsLength: number;
  readonly rows: Uint8Array;
  readonly fin: boolean;
}

/** Either way: the next piece of a body. */
export interface DataFrame {
  readonly type: 'data';
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly fin: boolean;
}

/** Agent to gateway: the call failed. `notStarted` promises that nothing ran. */
export interface ErrorFrame {
  readonly type: 'error';
  readonly id: number;
  readonly code: AgentErrorCode;
  readonly message: string;
  readonly notStarted: boolean;
}

/** Gateway to agent, if both have agreed on the feature `fleet`: the fields of `welcome` have changed. */
export interface FleetFrame {
  readonly type: 'fleet';
  readonly replicaCount: number;
  readonly linksPerReplica: number;
}

/** Agent to gateway, if both have agreed on the feature `databases`: the present state of all databases of the agent. */
export interface DatabasesFrame {
  readonly type: 'databases';
  readonly databases: readonly DatabaseState[];
}

/** Agent to gateway, before `result`, if both have agreed on the feature `cursor`: what continues after its last row. */
export interface CursorFrame {
  readonly type: 'cursor';
  readonly id: number;
  readonly cursor: string;
}

export const DATABASE_STATES = ['ready', 'away', 'refused'] as const;

export interface DatabaseState {
  readonly name: string;
  /** `refused`: it answers, but the agent does not serve it in its present state. */
  readonly state: (typeof DATABASE_STATES)[number];
}

/** PROTOCOL.md has the known keys. Receivers ignore the others. */
export type Metadata = Readonly<Record<string, string>>;
