import { formatIp, inOneOf, networkBase, parseIpAddress, type Cidr, type IpAddress } from './cidr.ts';

export interface Source {
  /** In its shortest spelling; an IPv4-mapped IPv6 address as IPv4. */
  readonly address: string;
  /** Whom the rate limit counts: an IPv4 address, or the /64 that one IPv6 host can roam in. */
  readonly bucket: string;
  readonly allowed: boolean;
}

/** `malformed` when the socket is gone, or a trusted proxy forwards an entry that is no address. */
export type ResolveSource = (peerAddress: string, rawHeaders: readonly string[]) => Source | 'malformed';

/** Addresses repeat from request to request; this many are remembered before starting over. */
const REMEMBERED = 10_000;
const MAX_LENGTH = 100;

interface Known {
  readonly source: Source;
  readonly trusted: boolean;
}

/**
 * Finds who sends a request. X-Forwarded-For counts only when the peer is a trusted proxy: all its lines
 * together are read from right to left, the first address that is no trusted proxy is the sender, and when
 * all are trusted the leftmost. Entries further left are the sender's own claim and are not looked at.
 */
export function createSourceResolver(options: {
  readonly allowList: readonly Cidr[] | undefined;
  readonly trustedProxies: readonly Cidr[];
}): ResolveSource {
  const isAllowed = options.allowList && inOneOf(options.allowList);
  const isTrusted = inOneOf(options.trustedProxies);
  const remembered = new Map<string, Known>();

  function look(text: string): Known | undefined {
    const before = remembered.get(text);
    if (before !== undefined) return before;
    const ip = text.length > MAX_LENGTH ? undefined : parseIpAddress(text);
    if (ip === undefined) return undefined;
    const address = formatIp(ip);
    const known: Known = {
      source: { address, bucket: bucketOf(ip), allowed: isAllowed?.(ip, address) ?? true },
      trusted: isTrusted(ip, address),
    };
    if (remembered.size >= REMEMBERED) remembered.clear();
    // A copy: the entry of a header would keep the whole header.
    remembered.set(Buffer.from(text, 'latin1').toString('latin1'), known);
    return known;
  }

  return (peerAddress, rawHeaders) => {
    let sender = look(peerAddress);
    if (sender === undefined) return 'malformed';
    if (!sender.trusted) return sender.source;
    const forwarded = forwardedFor(rawHeaders);
    if (forwarded.trim() === '') return sender.source;

    let end = forwarded.length;
    while (sender.trusted && end >= 0) {
      const comma = end === 0 ? -1 : forwarded.lastIndexOf(',', end - 1);
      const entry = forwarded.slice(comma + 1, end).trim();
      const next = look(entry) ?? look(withoutPort(entry));
      if (next === undefined) return 'malformed';
      sender = next;
      end = comma;
    }
    return sender.source;
  };
}

function forwardedFor(rawHeaders: readonly string[]): string {
  let joined: string | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length !== 15 || name.toLowerCase() !== 'x-forwarded-for') continue;
    const value = rawHeaders[index + 1] ?? '';
    joined = joined === undefined ? value : `${joined},${value}`;
  }
  return joined ?? '';
}

/** Some proxies add the port of the sender (`192.0.2.1:4711`, `[2001:db8::1]:4711`), or the brackets alone. */
function withoutPort(entry: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(entry) ?? [];
  return ipv6?.includes(':') === true ? ipv6 : (ipv4 ?? entry);
}

function bucketOf(address: IpAddress): string {
  if (address.family === 4) return formatIp(address);
  return `${formatIp({ family: 6, value: networkBase(address, 64) })}/64`;
}
