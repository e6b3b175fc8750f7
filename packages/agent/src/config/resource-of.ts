/**
 * What tokens for the service must name as their audience unless an issuer says otherwise: the MCP endpoint of the
 * gateway that `gateway.url` leads to.
 */
export function resourceOf(gatewayUrl: string): string {
  const { protocol, host } = new URL(gatewayUrl);
  return `${protocol === 'wss:' ? 'https' : 'http'}://${host}/mcp`;
}
