import type { ErrorFrame } from '@svc/protocol';
import type { AgentOutcome, AgentResult } from '../../agents/callable-link.ts';

/**
 * How a process tells the one where the caller is that the agent was lost: frames have no word for it. Of all codes this
 * one never comes from an agent whose call was not cancelled.
 */
const CODE = 'AGENT_CANCELLED';
const BEFORE_ANSWER = 'the link to the agent was lost';
const IN_ANSWER = 'the link to the agent was lost in its answer';

type Failure = Exclude<AgentOutcome, AgentResult>;

export function failureFrame(id: number, failure: Failure): ErrorFrame {
  if (failure.kind === 'error') {
    const { code, message, notStarted } = failure;
    return { type: 'error', id, code, message, notStarted };
  }
  const message = failure.answerBegun ? IN_ANSWER : BEFORE_ANSWER;
  return { type: 'error', id, code: CODE, message, notStarted: false };
}

export function outcomeAtAgent(outcome: AgentOutcome): AgentOutcome {
  if (outcome.kind !== 'error' || outcome.code !== CODE) return outcome;
  if (outcome.message === BEFORE_ANSWER) return { kind: 'lost', answerBegun: false };
  if (outcome.message === IN_ANSWER) return { kind: 'lost', answerBegun: true };
  return outcome;
}
