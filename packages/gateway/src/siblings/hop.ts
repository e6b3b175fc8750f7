import { ProtocolError, type Metadata } from '@svc/protocol';
import type { AgentRequest } from '../agents/callable-link.ts';

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

export function readHop(metadata: Metadata): Hop {
  const { [HOP]: hop, [LINK]: connId, [PRINCIPAL]: principal, ...rest } = metadata;
  if (hop !== '1' || connId === undefined || principal === undefined)
    throw new ProtocolError('a call of a sibling says where it goes');
  return { connId, principal, metadata: rest };
}
