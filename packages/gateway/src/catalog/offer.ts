import type { Description } from '@svc/protocol';

/** What one agent described. */
export interface AgentOffer {
  /** Of the agent's key. */
  readonly keyId: string;
  /** Of the agent's process. */
  readonly instanceId: string;
  /** Of the bytes of the description, as the agent signed it. */
  readonly digest: string;
  readonly description: Description;
}
