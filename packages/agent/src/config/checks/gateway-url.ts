import { isLoopbackHost, namesReplicas, namesReplicasRightly, urlOfReplica } from '@svc/protocol';

/** Why a URL cannot be `gateway.url`, undefined when it can. */
export function gatewayUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text) || /[\s\\]/.test(text)) {
    return 'must be a URL such as `wss://gateway.example.com/ws/agent`';
  }
  if (namesReplicas(text) && !namesReplicasRightly(text)) {
    return 'must have `{replica}` only once, in the first label of the host';
  }
  const url = new URL(urlOfReplica(text, 0));
  if (url.protocol !== 'wss:' && url.protocol !== 'ws:') {
    return 'must begin with `wss://`, or with `ws://` for a loopback host';
  }
  if (text.includes('@')) return 'must not hold a user name or password';
  if (text.includes('?') || text.includes('#')) return 'must not have a query or a fragment';
  // What a proxy has before it is part of GATEWAY_PUBLIC_URL.
  if (!url.pathname.endsWith('/ws/agent') || !text.endsWith('/ws/agent')) {
    return 'must end with the path `/ws/agent`';
  }
  if (url.protocol === 'ws:' && !isLoopbackHost(url.hostname)) {
    return 'must begin with `wss://`: `ws://` is for loopback hosts only';
  }
  return undefined;
}
