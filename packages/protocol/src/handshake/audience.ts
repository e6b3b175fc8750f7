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

/** Stands in a URL for the number of a replica: once, in the first label of the host. */
const REPLICA = '{replica}';
/** 0 to 63, without leading zeros. */
const REPLICA_NUMBER = '(?:[1-5]?[0-9]|6[0-3])';

export function namesReplicas(url: string): boolean {
  return url.includes(REPLICA);
}

/** For a URL that names replicas: whether it does so once, where it may. */
export function namesReplicasRightly(url: string): boolean {
  return (
    /^[^:]*:\/\/[^./:@?#[]*\{replica\}[^./:@?#]*(?:[./:]|$)/.test(url) && url.split(REPLICA).length === 2
  );
}

/** The URL of one replica; another URL as it is. */
export function urlOfReplica(url: string, replica: number): string {
  return url.replace(REPLICA, String(replica));
}

/** Both normalised; `accepted` may name replicas. */
export function audienceMatches(accepted: string, audience: string): boolean {
  const [before, after] = accepted.split(REPLICA);
  if (before === undefined || after === undefined) return accepted === audience;
  if (!audience.startsWith(before) || !audience.endsWith(after)) return false;
  const replica = audience.slice(before.length, audience.length - after.length);
  return new RegExp(`^${REPLICA_NUMBER}$`).test(replica);
}

/** Loopback names need no configuration: nobody can relay from another machine to them. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
