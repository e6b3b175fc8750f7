import { readListenAddress, type ListenAddress } from '@svc/edge';
import { namesReplicas, namesReplicasRightly, normalizeAudience } from '@svc/protocol';
import type { GatewayConfig } from '../model.ts';
import { bad, good, listItems, parseList, quoted, type Parsed } from './parsed.ts';

/** Problems do not show the URL: it may carry credentials. */
export function parsePublicUrl(text: string): Parsed<string> {
  const accepted = 'accepted: an http:// or https:// URL like https://gateway.example.com';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return bad(`is not a web address; ${accepted}`);
  }
  if (carriesMore(url)) return bad(`must not carry credentials, a query or a fragment; ${accepted}`);
  return good(url.origin + url.pathname.replace(/\/+$/, ''));
}

export function parseAgentUrl(text: string): Parsed<string> {
  if (namesReplicas(text) && !namesReplicasRightly(text)) {
    return bad('has {replica} elsewhere than once in the first label of its host');
  }
  try {
    return good(normalizeAudience(text));
  } catch {
    const accepted = 'accepted: a URL like wss://gateway.example.com/ws/agent';
    return bad(`is not a WebSocket URL without credentials, query and fragment; ${accepted}`);
  }
}

/** The URL of the agent endpoint under the public URL. */
export function agentUrlOf(publicUrl: string): string {
  return normalizeAudience(`${publicUrl.replace(/^http/, 'ws')}/ws/agent`);
}

/** The origin of a listener, for the log and for operators. */
export function originOf(
  { tls }: Pick<GatewayConfig, 'tls'>,
  host: string | undefined,
  port: number,
): string {
  const name = host ?? 'localhost';
  return `${tls === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Reads `:<port>`, `<host>:<port>` or `[<IPv6>]:<port>`. */
export function parseListenAddress(text: string): Parsed<ListenAddress> {
  const address = readListenAddress(text);
  const accepted = 'accepted: :<port>, <host>:<port> or [<IPv6 address>]:<port>, port 0 to 65535';
  return address === undefined ? bad(`${quoted(text)} is not a listen address; ${accepted}`) : good(address);
}

/** Reads `*`, or exact origins in the spelling that browsers send. */
export function parseCorsOrigins(text: string): Parsed<readonly string[] | '*'> {
  const items = listItems(text);
  if (items.length === 1 && items[0] === '*') return good('*');
  return parseList(text, parseOrigin);
}

function parseOrigin(text: string): Parsed<string> {
  const accepted = 'accepted: origins like https://app.example.com, separated by commas, or * alone';
  if (text === '*') return bad(`* stands beside other origins; ${accepted}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [matched] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/i.exec(text) ?? [];
  if (url === undefined || matched === undefined) {
    return bad(`is not an origin (scheme and host, no path, no slash at the end); ${accepted}`);
  }
  // URL has no origin for other schemes, such as those of browser extensions; they are compared as written.
  return good(url.origin === 'null' ? text : url.origin);
}

function carriesMore(url: URL): boolean {
  return url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '';
}
