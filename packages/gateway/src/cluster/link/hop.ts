import { ProtocolError, type Metadata } from '@svc/protocol';
import type { AgentRequest } from '../../agents/callable-link.ts';

/**
 * What the processes of a replica say to each other of a call, beside what the agent is told: no agent gets it. A call
 * with `hop` goes to an agent of the process that it reaches, and never further.
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

/** Takes its own entries out of `metadata`, which nobody else has: a copy without them would cost more than the rest. */
export function readHop(metadata: Metadata): Hop {
  const { [HOP]: hop, [LINK]: connId, [PRINCIPAL]: principal } = metadata;
  if (hop !== '1' || connId === undefined || principal === undefined)
    throw new ProtocolError('a call of a sibling says where it goes');
  // Metadata that were read are a dictionary for V8, so nothing becomes slower by it.
  for (const name of [HOP, LINK, PRINCIPAL]) Reflect.deleteProperty(metadata, name);
  return { connId, principal, metadata };
}
