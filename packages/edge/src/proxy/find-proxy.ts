import { BlockList, isIP } from 'node:net';

/** An HTTP proxy that is asked for a tunnel by CONNECT. */
export interface Proxy {
  /** `http:` or `https:`. It may hold a user and a password, so no message shows it. */
  readonly url: URL;
  /** PEM of the authorities that may have signed the proxy's certificate; absent for those of Node.js. */
  readonly ca?: string | undefined;
}

/** The proxy on the way to a URL; undefined where there is none. Throws where the one that is named cannot be used. */
export type FindProxy = (target: URL) => Proxy | undefined;

type Environment = Readonly<Record<string, string | undefined>>;

/** What an environment says of proxies, by names in either case. Values may hold passwords. */
export type ProxyVariables = Environment;

const VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'];

export function proxyVariables(env: Environment): ProxyVariables {
  const names = VARIABLES.flatMap((name) => [name.toLowerCase(), name]);
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

const ACCEPTED = 'accepted: a URL such as http://user:password@proxy.example.com:3128';

/** `scheme://` may be left out, for `http://`; without a port it is 80, or 443 with https. */
export function parseProxyUrl(text: string): { readonly url: URL } | { readonly problem: string } {
  const whole = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url === undefined || url.hostname === '') return { problem: `is not the URL of a proxy; ${ACCEPTED}` };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return {
      problem: `names a proxy of the kind ${url.protocol.slice(0, -1)}, which is not supported; ${ACCEPTED}`,
    };
  }
  if (!isEncoded(url.username) || !isEncoded(url.password)) {
    return {
      problem: `must have its user and password percent-encoded in UTF-8, each % as %25; ${ACCEPTED}`,
    };
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    return { problem: `must have neither a path nor a query; ${ACCEPTED}` };
  }
  return { url };
}

/**
 * As curl reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY: the name in lower case goes before the one in upper case,
 * and an empty value counts as absent. HTTP_PROXY counts in upper case too. A loopback host is reached without a proxy.
 */
export function proxiesOfEnvironment(env: ProxyVariables): FindProxy {
  const isExempt = exemptHosts(env);
  return (target) => {
    if (isExempt(target.hostname)) return undefined;
    const name = target.protocol === 'https:' || target.protocol === 'wss:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    for (const variable of [name.toLowerCase(), name, 'all_proxy', 'ALL_PROXY']) {
      const text = env[variable];
      if (text === undefined || text === '') continue;
      const parsed = parseProxyUrl(text);
      if ('problem' in parsed) throw new Error(`${variable} ${parsed.problem}`);
      return parsed;
    }
    return undefined;
  };
}

/** Whether NO_PROXY has the host, or it is this machine: names with all below them, addresses, networks, or `*` alone. */
export function exemptHosts(env: ProxyVariables): (hostname: string) => boolean {
  const list = env['no_proxy'] || env['NO_PROXY'] || '';
  if (list === '*') return () => true;
  const names: string[] = [];
  const addresses = new BlockList();
  for (const entry of list.toLowerCase().split(/[\s,]+/)) {
    const [address = '', prefix] = entry.replaceAll(/[[\]]/g, '').split('/');
    const family = isIP(address);
    if (family === 0) names.push(entry.replace(/^\./, '').replace(/\.$/, ''));
    else if (prefix === undefined) addresses.addAddress(address, family === 4 ? 'ipv4' : 'ipv6');
    else if (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)) {
      addresses.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
    }
  }
  return (hostname) => {
    const host = hostname.toLowerCase().replaceAll(/[[\]]/g, '').replace(/\.$/, '');
    const family = isIP(host);
    if (family !== 0) {
      const kind = family === 4 ? 'ipv4' : 'ipv6';
      return LOOPBACK.check(host, kind) || addresses.check(host, kind);
    }
    return isBelow(host, 'localhost') || names.some((name) => name !== '' && isBelow(host, name));
  };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function isBelow(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`);
}
