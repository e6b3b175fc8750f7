import type { ProtocolVersion } from './limits.ts';

/** How a call can fail at the agent, as it travels on the link. A closed list. */
export const AGENT_ERROR_CODES = [
  'AGENT_INVALID_PARAMS',
  /** Who calls is not proved to the agent, or lacks what the capability takes from who calls. From version 2. */
  'AGENT_PRINCIPAL_REFUSED',
  'AGENT_BUSY',
  /** The database of the capability has not been verified. With the feature `databases` only. */
  'AGENT_DATABASE_UNAVAILABLE',
  'AGENT_QUERY_TIMEOUT',
  'AGENT_RESULT_TOO_LARGE',
  'AGENT_QUERY_FAILED',
  /** The agent has no such capability (its file changed, or the caller's name is unknown). */
  'AGENT_UNKNOWN_CAPABILITY',
  /** The gateway asked for the end of the call. */
  'AGENT_CANCELLED',
  /** The agent is shutting down and did not start the call. */
  'AGENT_DRAINING',
] as const;
export type AgentErrorCode = (typeof AGENT_ERROR_CODES)[number];

const known: ReadonlySet<string> = new Set(AGENT_ERROR_CODES);

/** Whether a frame of that version may carry the code. */
export function isAgentErrorCode(code: string, version: ProtocolVersion): code is AgentErrorCode {
  return known.has(code) && (version > 1 || code !== 'AGENT_PRINCIPAL_REFUSED');
}
