import type { FindProxy } from '@svc/edge';
import type { DatabaseState } from '@svc/protocol';
import type { AgentLinks, LinkOffer } from '../calls/link-offer.ts';
import type { AgentConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';

/** The agent as its links see it. */
export interface LinkedAgent {
  readonly config: AgentConfig;
  readonly instanceId: string;
  /** Until `renew`. */
  readonly offer: LinkOffer;
  /** What gateways are told of the databases. */
  readonly databases: () => readonly DatabaseState[];
  readonly findProxy: FindProxy;
  readonly observe: Observe;
}

export type OpenLinks = (agent: LinkedAgent) => AgentLinks;
