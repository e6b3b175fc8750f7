import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatIp, inOneOf, parseIpAddress, type IpAddress } from './cidr.ts';
import { cidr } from './cidr.testing.ts';

function ip(text: string): IpAddress {
  const address = parseIpAddress(text);
  if (address === undefined) throw new Error(`no address: ${text}`);
  return address;
}

const ipv6Groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
  minLength: 8,
  maxLength: 8,
});

/** The 128 bits as text, written without any of the code under test. */
function bitsOf(groups: readonly number[]): string {
  return groups.map((group) => group.toString(2).padStart(16, '0')).join('');
}
function textOf(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':');
}
function groupsOfBits(bits: string): readonly number[] {
  return Array.from({ length: 8 }, (_, index) => Number.parseInt(bits.slice(index * 16, index * 16 + 16), 2));
}

describe('inOneOf', () => {
  it.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '203.0.113.9', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['::ffff:192.0.2.0/120', '192.0.2.77', true],
    ['::ffff:c000:200/120', '192.0.3.77', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['fe80::/10', 'fe80::1%eth0', true],
  ])('%s and %s: %s', (network, address, expected) => {
    expect(inOneOf([cidr(network)])(ip(address))).toBe(expected);
  });

  it('agrees with a comparison of written-out bits', () => {
    const input = fc.record({
      groups: ipv6Groups,
      prefix: fc.integer({ min: 0, max: 128 }),
      flip: fc.integer({ min: 0, max: 127 }),
    });
    fc.assert(
      fc.property(input, ({ groups, prefix, flip }) => {
        const bits = bitsOf(groups);
        const base = bits.slice(0, prefix).padEnd(128, '0');
        const other = bits.slice(0, flip) + (bits[flip] === '0' ? '1' : '0') + bits.slice(flip + 1);
        fc.pre(!base.startsWith(`${'0'.repeat(80)}${'1'.repeat(16)}`) && !other.startsWith('0'.repeat(80)));
        const network = cidr(`${textOf(groupsOfBits(base))}/${prefix}`);
        const expected = other.slice(0, prefix) === base.slice(0, prefix);
        expect(inOneOf([network])(ip(textOf(groupsOfBits(other))))).toBe(expected);
      }),
    );
  });

  it('agrees with a comparison of written-out bits for IPv4, mapped or not', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const address = fc.tuple(byte, byte, byte, byte);
    const bits = (bytes: readonly number[]): string =>
      bytes.map((value) => value.toString(2).padStart(8, '0')).join('');
    fc.assert(
      fc.property(
        address,
        address,
        fc.integer({ min: 0, max: 32 }),
        fc.boolean(),
        (one, two, prefix, mapped) => {
          const baseBits = bits(one).slice(0, prefix).padEnd(32, '0');
          const base = [0, 8, 16, 24].map((at) => Number.parseInt(baseBits.slice(at, at + 8), 2)).join('.');
          const network = cidr(mapped ? `::ffff:${base}/${prefix + 96}` : `${base}/${prefix}`);
          const expected = bits(one).slice(0, prefix) === bits(two).slice(0, prefix);
          expect(inOneOf([network])(ip(two.join('.')))).toBe(expected);
          expect(inOneOf([network])(ip(`::ffff:${two.join('.')}`))).toBe(expected);
        },
      ),
    );
  });
});

describe('formatIp', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['1:2:3:4:5:6:0:0', '1:2:3:4:5:6::'],
    ['10:0:0:10:0:0:0:10', '10:0:0:10::10'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('writes %s as %s', (text, expected) => {
    expect(formatIp(ip(text))).toBe(expected);
  });

  it('is read back as the same address', () => {
    fc.assert(
      fc.property(ipv6Groups, (groups) => {
        const address = ip(textOf(groups));
        expect(ip(formatIp(address))).toEqual(address);
      }),
    );
  });
});
