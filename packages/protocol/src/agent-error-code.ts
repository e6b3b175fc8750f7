/** How a call can fail at the agent, as it travels on the link. A closed list. */
export const AGENT_ERROR_CODES = [
  'AGENT_INVALID_PARAMS',
  'AGENT_BUSY',
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

export function isAgentErrorCode(code: string): code is AgentErrorCode {
  return known.has(code);
}
