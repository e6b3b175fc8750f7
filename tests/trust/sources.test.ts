import { dial } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  gatewayEnvironment,
  recordsOf,
  startLoneGateway,
  type LoneGateway,
} from '../requirements/lone-gateway.testing.ts';
import { speak } from '../requirements/raw-http.testing.ts';
import { answersIn, expectUnharmed } from './attack.testing.ts';

const MALFORMED = '400 GATEWAY_INVALID_REQUEST';
const OUTSIDE = '403 GATEWAY_SOURCE_NOT_ALLOWED';
const OFTEN = '429 GATEWAY_RATE_LIMITED';
/** As many as the gateway lets wait on one connection. */
const AT_ONCE = 100;

/** Stands behind proxies; the second trusts none; the third counts. */
let proxied: LoneGateway;
let bare: LoneGateway;
let counting: LoneGateway;
beforeAll(async () => {
  const env = await gatewayEnvironment();
  const GATEWAY_TRUSTED_PROXY_CIDRS = '127.0.0.1,10.0.0.0/8,2001:db8:1::/48';
  [proxied, bare, counting] = await Promise.all([
    startLoneGateway({
      ...env,
      GATEWAY_TRUSTED_PROXY_CIDRS,
      GATEWAY_IP_ALLOW_LIST: '203.0.113.0/24,2001:db8:2::/48,10.0.0.0/8',
    }),
    startLoneGateway({ ...env, GATEWAY_IP_ALLOW_LIST: '127.0.0.1' }),
    startLoneGateway({
      ...env,
      GATEWAY_TRUSTED_PROXY_CIDRS,
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
      GATEWAY_RATE_LIMIT_BURST: '2',
    }),
  ]);
});
afterAll(async () => {
  for (const gateway of [proxied, bare, counting]) {
    await expectUnharmed(gateway);
    await gateway.process.stop();
  }
});

const FORWARDED = 'X-Forwarded-For';
const forwarded = (...lines: string[]): string[] => lines.map((line) => `${FORWARDED}: ${line}`);

/** The outcome, and whom the log names as the source. */
async function from(gateway: LoneGateway, lines: readonly string[], path = '/healthz'): Promise<string[]> {
  const answer = await speak(gateway.port, [`GET ${path} HTTP/1.1`, 'Host: h', ...lines]);
  const { status, body } = answer;
  const id = answer.header('x-request-id') ?? 'none';
  await gateway.process.waitForLine((line) => line.includes(id));
  const record = recordsOf(gateway.process).find((one) => one['request_id'] === id);
  const [, code] = /^\{"error":\{"code":"([A-Z_]+)"/.exec(body) ?? [];
  return [code === undefined ? String(status) : `${status} ${code}`, String(record?.['source'])];
}

type Case = readonly [title: string, lines: readonly string[], outcome: string, source: string];

describe('behind a trusted proxy', () => {
  test.concurrent.each<Case>([
    ['one address', forwarded('203.0.113.7'), '200', '203.0.113.7'],
    ['the claim of an outsider in front', forwarded('203.0.113.7, 198.51.100.1'), OUTSIDE, '198.51.100.1'],
    ['that claim on a line of its own', forwarded('203.0.113.7', '198.51.100.1'), OUTSIDE, '198.51.100.1'],
    [
      'the outsider on the first of two lines',
      forwarded('198.51.100.1', '10.1.1.1'),
      OUTSIDE,
      '198.51.100.1',
    ],
    [
      'names in any case',
      ['x-forwarded-FOR: 203.0.113.7', 'X-FORWARDED-FOR: 198.51.100.1'],
      OUTSIDE,
      '198.51.100.1',
    ],
    ['a proxy of another family in the chain', forwarded('203.0.113.7, 2001:db8:1::9'), '200', '203.0.113.7'],
    ['only proxies', forwarded('10.0.0.9, 10.0.0.8', '10.0.0.7'), '200', '10.0.0.9'],
    ['nonsense behind the sender', forwarded('nonsense, 203.0.113.7'), '200', '203.0.113.7'],
    ['1,000 addresses', forwarded(Array(1000).fill('10.0.0.1').join(',')), '200', '10.0.0.1'],
    ['1,000 lines', forwarded('203.0.113.7', ...Array<string>(500).fill('10.0.0.1')), '200', '203.0.113.7'],
    ['8,000 commas', forwarded(','.repeat(8000)), MALFORMED, ''],
    ['tabs and blanks', forwarded('\t 203.0.113.7 \t,\t10.0.0.1  '), '200', '203.0.113.7'],
    ['an empty line and no address', forwarded(''), OUTSIDE, '127.0.0.1'],
    ['an empty line behind an address', forwarded('203.0.113.7', ''), MALFORMED, ''],
    ['a mapped address', forwarded('::ffff:203.0.113.7'), '200', '203.0.113.7'],
    ['a mapped address in hexadecimal', forwarded('::FFFF:cb00:7107'), '200', '203.0.113.7'],
    ['a mapped proxy', forwarded('198.51.100.1, ::ffff:10.0.0.1'), OUTSIDE, '198.51.100.1'],
    ['a zone, which is left out', forwarded('2001:db8:2::1%eth0'), '200', '2001:db8:2::1'],
    ['an address with a port', forwarded('203.0.113.7:443'), '200', '203.0.113.7'],
    ['an address in brackets', forwarded('[2001:db8:2::1]'), '200', '2001:db8:2::1'],
    ['both', forwarded('[2001:db8:2::1]:443'), '200', '2001:db8:2::1'],
    ['a long spelling', forwarded('2001:0DB8:0002:0000:0000:0000:0000:0001'), '200', '2001:db8:2::1'],
    ...[
      '203.0.113.007',
      '203.0.113',
      '0xcb007107',
      '3405803783',
      '203.0.113.7/32',
      '203.0.113.256',
      '203.0.113.7.',
      '2001:db8:2:::1',
      '2001:db8:2::1::',
      '::ffff:203.0.113.256',
      '"203.0.113.7"',
      'for=203.0.113.7',
      'unknown',
      'localhost',
      '203.0.113.7;10.0.0.1',
      '203.0.113.7 10.0.0.1',
      '\xb2\xb0\xb3.0.113.7',
    ].map((text): Case => [JSON.stringify(text), forwarded(text), MALFORMED, '']),
    [
      'other headers name nobody',
      ['Forwarded: for=203.0.113.7', 'X-Real-IP: 203.0.113.7', 'X_Forwarded_For: 203.0.113.7'],
      OUTSIDE,
      '127.0.0.1',
    ],
  ])('%s', async (_title, lines, outcome, source) => {
    for (const path of ['/healthz', '/mcp']) {
      const expected = outcome === '200' && path === '/mcp' ? '405 GATEWAY_METHOD_NOT_ALLOWED' : outcome;
      expect([path, ...(await from(proxied, lines, path))]).toEqual([path, expected, source]);
    }
  });
});

test.each([['203.0.113.7'], ['nonsense'], ['127.0.0.1, 10.0.0.1'], [','], ['203.0.113.7', '10.0.0.1']])(
  'who is no trusted proxy is the source, whatever is forwarded: %j',
  async (...lines) => {
    expect(await from(bare, forwarded(...lines))).toEqual(['200', '127.0.0.1']);
  },
);

describe('a bucket of the rate limit', () => {
  const outcomes = async (...sources: readonly string[]): Promise<string[]> => {
    const seen: string[] = [];
    for (const source of sources) seen.push((await from(counting, forwarded(source)))[0] ?? '');
    return seen;
  };

  test.each([
    [
      'is one of an IPv4 address',
      ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'],
      ['200', '200', OFTEN, '200'],
    ],
    [
      'is the same however it is spelt',
      ['192.0.2.3', '::ffff:192.0.2.3', '::ffff:c000:203'],
      ['200', '200', OFTEN],
    ],
    [
      'is one of an IPv6 /64',
      ['2001:db8:5::1', '2001:db8:5::ffff:ffff:ffff:ffff', '2001:db8:5:0:1::', '2001:db8:5:1::1'],
      ['200', '200', OFTEN, '200'],
    ],
    [
      'does not move with a claim',
      ['192.0.2.4', '192.0.2.9, 192.0.2.4', '192.0.2.8, 192.0.2.4'],
      ['200', '200', OFTEN],
    ],
  ])('%s', async (_title, sources, expected) => {
    expect(await outcomes(...sources)).toEqual(expected);
  });

  test('stays empty while thousands of other sources come', async () => {
    expect(await outcomes('192.0.2.5', '192.0.2.5', '192.0.2.5')).toEqual(['200', '200', OFTEN]);
    for (let part = 0; part < 30; part++) {
      const flood = Array.from({ length: AT_ONCE }, (_, n) => {
        const last = n === AT_ONCE - 1 ? 'Connection: close\r\n' : '';
        return `GET /healthz HTTP/1.1\r\nHost: h\r\n${FORWARDED}: 198.18.${part}.${n}\r\n${last}\r\n`;
      });
      const connection = await dial(counting.port);
      connection.send(flood.join(''));
      expect(answersIn(await connection.ended)).toEqual(Array(AT_ONCE).fill('200'));
    }
    expect(await outcomes('192.0.2.5')).toEqual([OFTEN]);
  });
});
