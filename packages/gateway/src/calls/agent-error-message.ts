import type { CallErrorCode } from '../core/call-error.ts';

/** How an agent says that a call failed, as far as callers may be told. */
interface AgentError {
  readonly code: Extract<CallErrorCode, `AGENT_${string}`>;
  readonly message: string;
  readonly notStarted: boolean;
}

/** Control characters, line separators, and those that change the direction of the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * What callers read of a call that failed at the agent. The gateway's own words: those of an agent in wrong hands could
 * be anything. Only refused parameters need the agent's, since it alone knows which and why; the link bounds their length.
 */
export function agentErrorMessage({ code, message, notStarted }: AgentError): string {
  switch (code) {
    case 'AGENT_INVALID_PARAMS':
      return message.replace(UNPRINTABLE, '');
    case 'AGENT_PRINCIPAL_REFUSED':
      return 'the agent does not accept who calls, or the capability takes something from who calls that is missing';
    case 'AGENT_BUSY':
      return 'the agent has as many calls as it takes, try again shortly';
    case 'AGENT_DATABASE_UNAVAILABLE':
      return 'the database of the capability is not available, try again later';
    case 'AGENT_QUERY_TIMEOUT':
      return notStarted ? 'the time was up before the query began' : 'the query took longer than it may';
    case 'AGENT_RESULT_TOO_LARGE':
      return 'the result is larger than it may be, narrow the request';
    case 'AGENT_QUERY_FAILED':
      return 'the query could not be completed';
  }
}
