import { BlockList, isIP } from 'node:net';

/** An IP address as a number; an IPv4-mapped IPv6 address is the IPv4 address. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** A network: the addresses of `family` whose first `prefix` bits are those of `base`. */
export interface Cidr {
  readonly family: 4 | 6;
  readonly base: bigint;
  readonly prefix: number;
}

const MAPPED_PREFIX = 0xffffn;

/** Undefined for what is no address. A zone (`%eth0`) says nothing about the sender and is dropped. */
export function parseIpAddress(text: string): IpAddress | undefined {
  switch (isIP(text)) {
    case 4:
      return { family: 4, value: ipv4Value(text) };
    case 6: {
      const value = ipv6Value(text.split('%')[0] ?? '');
      return value >> 32n === MAPPED_PREFIX
        ? { family: 4, value: value & 0xffff_ffffn }
        : { family: 6, value };
    }
    default:
      return undefined;
  }
}

/** Whether an address is in one of these networks. In one list for both families, `::/0` would hold all of IPv4. */
export function inOneOf(networks: readonly Cidr[]): (address: IpAddress, text?: string) => boolean {
  const lists = { 4: new BlockList(), 6: new BlockList() };
  for (const { family, base, prefix } of networks) {
    lists[family].addSubnet(formatIp({ family, value: base }), prefix, `ipv${family}`);
  }
  return (address, text = formatIp(address)) => lists[address.family].check(text, `ipv${address.family}`);
}

/** The address with everything after the first `prefix` bits cleared. */
export function networkBase(address: IpAddress, prefix: number): bigint {
  const hostBits = BigInt((address.family === 4 ? 32 : 128) - prefix);
  return (address.value >> hostBits) << hostBits;
}

/** Dotted IPv4, or IPv6 in its shortest form (RFC 5952). */
export function formatIp(address: IpAddress): string {
  if (address.family === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => (address.value >> shift) & 0xffn).join('.');
  }
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((address.value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  ).join(':');
  const zeros = groups.match(/\b0(?::0)+\b/g) ?? [];
  const longest = zeros.reduce((best, run) => (run.length > best.length ? run : best), '');
  if (longest === '') return groups;
  const at = groups.search(new RegExp(`\\b${longest}\\b`));
  return `${groups.slice(0, at).replace(/:$/, '')}::${groups.slice(at + longest.length).replace(/^:/, '')}`;
}

function ipv4Value(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function ipv6Value(text: string): bigint {
  const [left = '', right] = text.split('::');
  const head = ipv6Groups(left);
  const tail = right === undefined ? [] : ipv6Groups(right);
  const gap = Array<bigint>(8 - head.length - tail.length).fill(0n);
  return [...head, ...gap, ...tail].reduce((value, group) => (value << 16n) | group, 0n);
}

function ipv6Groups(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const value = ipv4Value(group);
    return [value >> 16n, value & 0xffffn];
  });
}
