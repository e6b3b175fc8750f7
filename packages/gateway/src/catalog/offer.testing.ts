import { createHash } from 'node:crypto';
import type { Description } from '@svc/protocol';
import type { AgentOffer } from './offer.ts';

/** What an agent with these bytes to describe itself offers. */
export function offering(description: Description, keyId = 'key', instanceId = 'instance'): AgentOffer {
  const text = JSON.stringify(description);
  const digest = createHash('sha256').update(text).digest('hex');
  // As it comes over the link: each agent's is an object of its own.
  return { keyId, instanceId, digest, bytes: text.length, description: structuredClone(description) };
}
