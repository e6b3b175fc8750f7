import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSourceResolver, type Source } from './client-address.ts';
import { cidr } from './cidr.testing.ts';

const PROXY = '10.0.0.1';

function forwarded(...lines: readonly string[]): readonly string[] {
  return ['Host', 'gateway', ...lines.flatMap((line) => ['X-Forwarded-For', line])];
}

describe('the sender', () => {
  const resolve = createSourceResolver({
    allowList: undefined,
    trustedProxies: [cidr('10.0.0.0/8'), cidr('2001:db8:1::/48')],
  });

  it.each([
    ['is the peer when nothing was forwarded', PROXY, [], PROXY],
    ['is the peer when the header is blank', PROXY, [' '], PROXY],
    ['is the peer when that is no trusted proxy', '192.0.2.1', ['203.0.113.7'], '192.0.2.1'],
    ['is the peer when that is no trusted proxy, whatever it forwards', '192.0.2.1', ['bogus'], '192.0.2.1'],
    ['is the forwarded address', PROXY, ['203.0.113.7'], '203.0.113.7'],
    [
      'is the rightmost that is no trusted proxy',
      PROXY,
      ['198.51.100.1, 203.0.113.7, 10.0.0.2'],
      '203.0.113.7',
    ],
    [
      'is found across all lines',
      PROXY,
      ['198.51.100.1, 203.0.113.7', '10.0.0.2', '10.0.0.3'],
      '203.0.113.7',
    ],
    ['is the leftmost when all are trusted', PROXY, ['10.0.0.4, 10.0.0.3', '10.0.0.2'], '10.0.0.4'],
    ['may be what its own claim stands left of', PROXY, ['unknown, 203.0.113.7'], '203.0.113.7'],
    ['may be an IPv6 address', '2001:db8:1::5', ['2001:DB8:2:0::1'], '2001:db8:2::1'],
    ['is read without its port', PROXY, ['198.51.100.1:5, 203.0.113.7:49152'], '203.0.113.7'],
    ['is read without its port, as an IPv6 address', PROXY, ['[2001:db8:2::1]:5'], '2001:db8:2::1'],
    ['is read without its port and its zone', PROXY, ['[2001:db8:2::1%eth0]:5'], '2001:db8:2::1'],
    ['is read without brackets', PROXY, ['[2001:db8:2::1]'], '2001:db8:2::1'],
    ['is read through trusted proxies with ports', PROXY, ['203.0.113.7:1, 10.0.0.3:2'], '203.0.113.7'],
    ['is not mistaken for an address with a port', PROXY, ['2001:db8:2::1:5'], '2001:db8:2::1:5'],
    ['is IPv4 when it is mapped', '::ffff:10.0.0.1', ['::ffff:203.0.113.7'], '203.0.113.7'],
  ])('%s', (_, peer, lines, address) => {
    expect(resolve(peer, forwarded(...lines))).toMatchObject({ address });
  });

  it.each([
    ['bogus'],
    ['203.0.113.7, bogus'],
    ['203.0.113.7,'],
    [',203.0.113.7,'],
    [','],
    [',10.0.0.2'],
    ['203.0.113.7:'],
    ['203.0.113.7:http'],
    ['203.0.113.7:443:443'],
    ['203.0.113.7:123456'],
    ['[203.0.113.7]'],
    ['[203.0.113.7]:443'],
    ['[2001:db8::1'],
    ['[2001:db8::1]443'],
    ['[]:5'],
    ['unknown'],
    ['203.0.113.007'],
    ['bogus, 10.0.0.2'],
  ])('cannot be told from %j', (line) => {
    expect(resolve(PROXY, forwarded(line))).toBe('malformed');
  });

  it('cannot be told from an entry of any length, and costs no more for it', () => {
    const began = performance.now();
    for (const line of [`[${':'.repeat(15_000)}`, `[${':'.repeat(7000)}%${'a'.repeat(7000)}`]) {
      for (let round = 0; round < 20; round++) expect(resolve(PROXY, forwarded(line))).toBe('malformed');
    }
    expect(performance.now() - began).toBeLessThan(1000);
    expect(resolve(PROXY, forwarded(`2001:db8:2::1%${'a'.repeat(1000)}`))).toBe('malformed');
  });

  it('is remembered without the header that it stood in', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: unknown = runInNewContext('gc');
    if (typeof collectGarbage !== 'function') throw new Error('V8 offers no gc');
    const heap = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    for (let sender = 0; sender < 5000; sender++) {
      const line = `${'x'.repeat(15_000)},2001:db8:2::${sender.toString(16)}:1`;
      const received = Buffer.from(line).toString('latin1');
      expect(resolve(PROXY, forwarded(received))).toMatchObject({ allowed: true });
    }
    expect(heap() - before).toBeLessThan(30_000_000);
    expect(resolve(PROXY, forwarded('2001:db8:2::1:1'))).toMatchObject({ address: '2001:db8:2::1:1' });
  });

  it('cannot be told when the socket is gone', () => {
    expect(resolve('', [])).toBe('malformed');
  });

  it('reads the header in any case, and no other header', () => {
    expect(resolve(PROXY, ['x-FORWARDED-for', '203.0.113.7'])).toMatchObject({ address: '203.0.113.7' });
    expect(resolve(PROXY, ['X-Forwarded-Foo', '203.0.113.7'])).toMatchObject({ address: PROXY });
    expect(resolve(PROXY, ['Referer', 'X-Forwarded-For', 'Accept', '*/*'])).toMatchObject({ address: PROXY });
  });

  it('is the same as in a plain reading of the rules', () => {
    const address = fc.constantFrom('10.0.0.1', '10.9.9.9', '203.0.113.7', '198.51.100.1', 'bogus', '');
    const lines = fc.array(fc.array(address, { minLength: 1, maxLength: 4 }), { maxLength: 3 });
    fc.assert(
      fc.property(
        address.filter((peer) => peer.includes('.')),
        lines,
        (peer, forwardedLines) => {
          const headers = forwarded(...forwardedLines.map((entries) => entries.join(', ')));
          const result = resolve(peer, headers);
          expect(typeof result === 'string' ? result : result.address).toBe(plainly(peer, forwardedLines));
        },
      ),
    );
  });
});

function plainly(peer: string, lines: readonly (readonly string[])[]): string {
  const entries = lines.flat();
  const blank =
    lines.length === 0 || (lines.length === 1 && lines[0]?.join('') === '' && lines[0].length === 1);
  let sender = peer;
  while (sender.startsWith('10.') && !blank && entries.length > 0) {
    sender = entries.pop() ?? '';
    if (!sender.includes('.')) return 'malformed';
  }
  return sender;
}

describe('the bucket', () => {
  const resolve = createSourceResolver({ allowList: undefined, trustedProxies: [] });
  const bucketOf = (peer: string): string => {
    const source = resolve(peer, []);
    return source === 'malformed' ? source : source.bucket;
  };

  it('is an IPv4 address, mapped or not', () => {
    expect(bucketOf('203.0.113.7')).toBe(bucketOf('::ffff:203.0.113.7'));
    expect(bucketOf('203.0.113.7')).not.toBe(bucketOf('203.0.113.8'));
  });

  it('is an IPv6 /64', () => {
    expect(bucketOf('2001:db8:0:1::1')).toBe(bucketOf('2001:db8:0:1:ffff:ffff:ffff:ffff'));
    expect(bucketOf('2001:db8:0:1::1')).not.toBe(bucketOf('2001:db8:0:2::1'));
  });
});

describe('the allow list', () => {
  it('allows everyone when there is none', () => {
    const resolve = createSourceResolver({ allowList: undefined, trustedProxies: [] });
    expect(resolve('203.0.113.7', [])).toEqual<Source>({
      address: '203.0.113.7',
      bucket: '203.0.113.7',
      allowed: true,
    });
  });

  it('judges the sender, not the proxy', () => {
    const resolve = createSourceResolver({
      allowList: [cidr('203.0.113.0/24'), cidr('2001:db8::/32')],
      trustedProxies: [cidr(PROXY)],
    });
    expect(resolve(PROXY, [])).toMatchObject({ allowed: false });
    expect(resolve(PROXY, forwarded('203.0.113.7'))).toMatchObject({ allowed: true });
    expect(resolve(PROXY, forwarded('198.51.100.1'))).toMatchObject({ allowed: false });
    expect(resolve('198.51.100.1', forwarded('203.0.113.7'))).toMatchObject({ allowed: false });
    expect(resolve('::ffff:203.0.113.7', [])).toMatchObject({ allowed: true });
    expect(resolve('2001:db8::1', [])).toMatchObject({ allowed: true });
  });

  it('still judges rightly after more addresses than it remembers', () => {
    const resolve = createSourceResolver({ allowList: [cidr('10.0.0.0/16')], trustedProxies: [] });
    for (let index = 0; index < 25_000; index++) {
      const address = `10.${index >> 14}.${(index >> 7) & 127}.${index & 127}`;
      expect(resolve(address, [])).toMatchObject({ address, allowed: index < 16_384 });
    }
  });
});
