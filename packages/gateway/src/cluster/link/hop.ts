import { ProtocolError, type ErrorFrame, type Metadata } from '@svc/protocol';
import type { AgentOutcome, AgentRequest, AgentResult } from '../../agents/callable-link.ts';

/**
 * Metadata that the processes of a replica add to a call for each other and that no agent gets. A call with `hop` goes to
 * an agent of the process that it reaches, and never further.
 */
const HOP = 'hop';
const LINK = 'hop_link';
const PRINCIPAL = 'hop_principal';

export interface Hop {
  /** The link to the agent for which the rest of the metadata was made. */
  readonly connId: string;
  readonly principal: string;
  readonly metadata: Metadata;
}

export function withHop(connId: string, { metadata, principal }: AgentRequest): Metadata {
  return { [HOP]: '1', [LINK]: connId, [PRINCIPAL]: principal, ...metadata };
}

/** Removes its entries from `metadata`, which has no other owner: a copy without them would cost more than the rest. */
export function readHop(metadata: Metadata): Hop {
  const { [HOP]: hop, [LINK]: connId, [PRINCIPAL]: principal } = metadata;
  if (hop !== '1' || connId === undefined || principal === undefined)
    throw new ProtocolError('a call of a sibling says where it goes');
  // V8 keeps parsed metadata as a dictionary, so a deletion makes nothing slower.
  for (const name of [HOP, LINK, PRINCIPAL]) Reflect.deleteProperty(metadata, name);
  return { connId, principal, metadata };
}

/**
 * Tells the process of the caller that the agent was lost, for which there is no frame. An agent never sends this code for
 * a call that was not cancelled.
 */
const LOST = 'AGENT_CANCELLED';
const BEFORE_ANSWER = 'the link to the agent was lost';
const IN_ANSWER = 'the link to the agent was lost in its answer';

type Failure = Exclude<AgentOutcome, AgentResult>;

export function failureFrame(id: number, failure: Failure): ErrorFrame {
  if (failure.kind === 'error') {
    const { code, message, notStarted } = failure;
    return { type: 'error', id, code, message, notStarted };
  }
  const message = failure.answerBegun ? IN_ANSWER : BEFORE_ANSWER;
  return { type: 'error', id, code: LOST, message, notStarted: false };
}

export function outcomeAtAgent(outcome: AgentOutcome): AgentOutcome {
  if (outcome.kind !== 'error' || outcome.code !== LOST) return outcome;
  if (outcome.message === BEFORE_ANSWER) return { kind: 'lost', answerBegun: false };
  if (outcome.message === IN_ANSWER) return { kind: 'lost', answerBegun: true };
  return outcome;
}
