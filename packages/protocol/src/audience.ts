/**
 * The one spelling of a gateway's agent endpoint that both sides sign and compare
 * (PROTOCOL.md, "Audience"): lower-case host, default port dropped, no trailing slash.
 * Throws TypeError for anything that is not a `ws:` or `wss:` URL or that carries
 * credentials, a query or a fragment.
 */
export function normalizeAudience(url: string): string {
  const parsed = new URL(url);
  if (parsed.protocol !== 'ws:' && parsed.protocol !== 'wss:') {
    throw new TypeError('cannot use the URL: it must begin with ws:// or wss://');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new TypeError('cannot use the URL: it must not carry credentials');
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw new TypeError('cannot use the URL: it must not carry a query or a fragment');
  }
  return `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, '')}`;
}

/** Loopback names need no configuration: nobody can relay from another machine to them. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
