import type { AgentErrorCode } from '@svc/protocol';
import type { Position } from './fault.ts';

/** What a call that reaches the agent alone can end with. */
export const EXPECTED_ERRORS: readonly AgentErrorCode[] = [
  'AGENT_INVALID_PARAMS',
  'AGENT_PRINCIPAL_REFUSED',
  'AGENT_QUERY_TIMEOUT',
  'AGENT_RESULT_TOO_LARGE',
  'AGENT_QUERY_FAILED',
];

/** A call of a capability that the file gives, and what is expected of its answer. */
export interface Example {
  readonly params: Readonly<Record<string, unknown>>;
  /** Who calls; absent where the example does not say. */
  readonly principal?: ExamplePrincipal;
  readonly expect: Expectation;
  /** Whether callers are shown the parameters. */
  readonly isPublished: boolean;
  readonly position: Position;
}

/** Of an API key the name, of a token the rest; as the file has it. */
export interface ExamplePrincipal {
  readonly key_name?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly client_id?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** As the file has it; what is absent may be anything. Without `error` the call has to succeed. */
export interface Expectation {
  readonly count?: number;
  /** Parts of the first rows of the answer, in its order. */
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  readonly max_count?: number;
  readonly truncated?: boolean;
  readonly max_ms?: number;
  readonly error?: AgentErrorCode;
}
