import type { GatewayConfig } from '../model.ts';
import { bad, good, quoted, type Parsed } from './parsed.ts';

const REPLICAS_MAX = 16;

/** A number, or `dns:` and a host name with one address for each replica. */
export function parseReplicas(text: string): Parsed<GatewayConfig['replicas']> {
  const [, dnsName] = /^dns:([A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))$/.exec(text) ?? [];
  if (dnsName !== undefined) return good({ dnsName });
  const count = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= REPLICAS_MAX) return good(count);
  const accepted = `a whole number from 1 to ${REPLICAS_MAX}, or dns:<name> with a name that has one address for each replica`;
  return bad(`${quoted(text)} is not accepted; accepted: ${accepted}`);
}
