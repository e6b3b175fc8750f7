import type { GatewayConfig } from '../../config/model.ts';

/** Where the setting is absent: each link costs an agent memory, and with four few calls take a second hop. */
const USUAL_MOST = 4;

/** Each link of an agent leads to another worker. */
export function linksPerReplicaOf({ linksPerReplica = USUAL_MOST, workers }: GatewayConfig): number {
  return Math.min(linksPerReplica, workers);
}

/** Whether agents may be told to hold more than one link. */
export function isFleet(config: GatewayConfig): boolean {
  return config.replicas !== 1 || linksPerReplicaOf(config) > 1;
}
