import type { AbortSignalLike } from '@svc/edge';
import type { AgentErrorCode, Metadata } from '@svc/protocol';

export interface IncomingCall {
  readonly capability: string;
  /** A JSON object that is not checked yet. */
  readonly params: Uint8Array;
  readonly timeoutMs: number;
  readonly metadata: Metadata;
  /** Aborted when the gateway cancels the call or the link is lost. */
  readonly signal: AbortSignalLike;
}

export type CallOutcome =
  | {
      readonly kind: 'result';
      readonly rows: Uint8Array;
      readonly count: number;
      readonly truncated: boolean;
      /** By which a call goes on after the last row. */
      readonly cursor?: string | undefined;
      /** To be called once, when the rows have left or never will. */
      readonly release: () => void;
    }
  | {
      readonly kind: 'error';
      readonly code: AgentErrorCode;
      readonly message: string;
      readonly notStarted: boolean;
    };

/** Never rejects: every failure is an outcome. */
export type HandleCall = (call: IncomingCall) => Promise<CallOutcome>;
