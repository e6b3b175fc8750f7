import type { Description } from '@svc/protocol';
import type { OfferIdentity } from './kept-offers.ts';

/** What one agent described. */
export interface AgentOffer extends OfferIdentity {
  readonly description: Description;
}
