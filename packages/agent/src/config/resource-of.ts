import { namesReplicas } from '@svc/protocol';

/**
 * What tokens for the service must name as their audience unless an issuer says otherwise: the MCP endpoint of the
 * gateway that `gateway.url` leads to. Undefined where that does not say it: several gateways, or a host for each replica.
 */
export function resourceOf(gatewayUrls: readonly string[]): string | undefined {
  const [url] = gatewayUrls;
  if (url === undefined || gatewayUrls.length > 1 || namesReplicas(url)) return undefined;
  const { protocol, host } = new URL(url);
  return `${protocol === 'wss:' ? 'https' : 'http'}://${host}/mcp`;
}
