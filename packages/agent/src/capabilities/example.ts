import type { AgentErrorCode } from '@svc/protocol';
import type { Position } from './fault.ts';

/** How a call can end that no gateway handles. */
export const EXPECTED_ERRORS: readonly AgentErrorCode[] = [
  'AGENT_INVALID_PARAMS',
  'AGENT_PRINCIPAL_REFUSED',
  'AGENT_QUERY_TIMEOUT',
  'AGENT_RESULT_TOO_LARGE',
  'AGENT_QUERY_FAILED',
];

/** A call that the file describes, and what it expects of the answer. */
export interface Example {
  readonly params: Readonly<Record<string, unknown>>;
  /** Who calls; absent if the example does not say. */
  readonly principal?: ExamplePrincipal;
  readonly expect: Expectation;
  /** Whether callers are shown the parameters. */
  readonly isPublished: boolean;
  readonly position: Position;
}

/** An API key has a name, a token has the rest; as in the file. */
export interface ExamplePrincipal {
  readonly key_name?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly client_id?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** As in the file; an absent key allows anything. Without `error` the call has to succeed. */
export interface Expectation {
  readonly count?: number;
  /** Parts of the first rows of the answer, in its order. */
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  readonly max_count?: number;
  readonly truncated?: boolean;
  readonly max_ms?: number;
  readonly error?: AgentErrorCode;
}
