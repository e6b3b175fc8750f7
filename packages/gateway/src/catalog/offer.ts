import type { Description } from '@svc/protocol';
import type { OfferIdentity } from './kept-offers.ts';

export interface AgentOffer extends OfferIdentity {
  readonly description: Description;
}
