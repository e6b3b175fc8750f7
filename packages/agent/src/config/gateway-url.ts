import { isLoopbackHost, namesReplicas, namesReplicasRightly, urlOfReplica } from '@svc/protocol';

/** The URLs in `gateway.url`, one or a list of them; none if it is something else. */
export function gatewayUrls(url: unknown): readonly string[] {
  const urls: readonly unknown[] = Array.isArray(url) ? url : [url];
  return urls.filter((one) => typeof one === 'string');
}

/** Why a URL cannot be `gateway.url`; undefined if it can. */
export function gatewayUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text) || /[\s\\]/.test(text))
    return 'must be a URL such as `wss://gateway.example.com/ws/agent`';
  if (namesReplicas(text) && !namesReplicasRightly(text))
    return 'must have `{replica}` only once, in the first label of the host';
  const { protocol, pathname, hostname } = new URL(urlOfReplica(text, 0));
  if (protocol !== 'wss:' && protocol !== 'ws:')
    return 'must begin with `wss://`, or with `ws://` for a loopback host';
  if (text.includes('@')) return 'must not hold a user name or password';
  if (text.includes('?') || text.includes('#')) return 'must not have a query or a fragment';
  // A proxy may put the gateway below a path, which is then part of GATEWAY_PUBLIC_URL.
  if (!pathname.endsWith('/ws/agent') || !text.endsWith('/ws/agent'))
    return 'must end with the path `/ws/agent`';
  if (protocol === 'ws:' && !isLoopbackHost(hostname))
    return 'must begin with `wss://`: `ws://` is for loopback hosts only';
  return undefined;
}

/**
 * The audience of tokens for issuers that name none: the MCP endpoint of the gateway that `gateway.url` leads to.
 * Undefined if the URL does not tell: there are several gateways, or each replica has its own host.
 */
export function resourceOf(urls: readonly string[]): string | undefined {
  const [url] = urls;
  if (url === undefined || urls.length > 1 || namesReplicas(url)) return undefined;
  const { protocol, host } = new URL(url);
  return `${protocol === 'wss:' ? 'https' : 'http'}://${host}/mcp`;
}
