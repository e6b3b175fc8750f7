import { exemptHosts, parseProxyUrl, proxiesOfEnvironment, type FindProxy } from '@svc/edge';

/** The proxies by which the agent reaches other hosts. */
export interface AgentProxies {
  /** To the gateway: what the file names goes before the environment, NO_PROXY included. */
  readonly toGateway: FindProxy;
  /** To the key sets of issuers, which may be near: NO_PROXY and this machine are exempt. */
  readonly toIssuers: FindProxy;
}

export function agentProxies(
  { proxy, proxyCa }: { readonly proxy?: string; readonly proxyCa?: string },
  env: Readonly<Record<string, string | undefined>>,
): AgentProxies {
  if (proxy === undefined) {
    const ofEnvironment = proxiesOfEnvironment(env);
    return { toGateway: ofEnvironment, toIssuers: ofEnvironment };
  }
  const parsed = proxy === 'none' ? undefined : parseProxyUrl(proxy);
  if (parsed === undefined) return { toGateway: () => undefined, toIssuers: () => undefined };
  if ('problem' in parsed) throw new Error(`gateway.proxy ${parsed.problem}`);
  const named = { url: parsed.url, ca: proxyCa };
  const isExempt = exemptHosts(env);
  return {
    toGateway: () => named,
    toIssuers: ({ hostname }) => (isExempt(hostname) ? undefined : named),
  };
}
