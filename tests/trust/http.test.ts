import { createKey, dial } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CALL,
  gatewayEnvironment,
  startLoneGateway,
  type LoneGateway,
} from '../requirements/lone-gateway.testing.ts';
import { answersIn, expectUnharmed, outcomeOf } from './attack.testing.ts';

/** Without an agent this is what a call gets that has passed every check. */
const TAKEN = '503 GATEWAY_AGENT_OFFLINE';
const REFUSED = '400 GATEWAY_INVALID_REQUEST';
const WRONG_KEY = '401 GATEWAY_UNAUTHORIZED';
const WRONG_METHOD = '405 GATEWAY_METHOD_NOT_ALLOWED';
const TOO_LARGE = '431 GATEWAY_INVALID_REQUEST';
const CLOSED = '';

/** Matches nothing and takes about a quarter of a second of CPU to find that out. */
const SLOW_HASH = `$2b$12$${'.'.repeat(53)}`;

let gateway: LoneGateway;
let key: string;
beforeAll(async () => {
  const created = await createKey('all', '*');
  key = created.api_key;
  const slow = { name: 'slow', key_hash: SLOW_HASH, capabilities: ['*'] };
  gateway = await startLoneGateway(
    await gatewayEnvironment([created.record, slow], { GATEWAY_BODY_READ_TIMEOUT: '700ms' }),
  );
});
afterAll(async () => {
  await expectUnharmed(gateway);
  await gateway.process.stop();
});

const CLOSE = 'Connection: close';
const KEEP = 'Connection: keep-alive';
const TWO = 'Content-Length: 2';
const CHUNKED = 'Transfer-Encoding: chunked';
const LAST = '0\r\n\r\n';
const CHUNKS = `2\r\n{}\r\n${LAST}`;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: h\r\n';
const OLD_HEALTH = 'GET /healthz HTTP/1.0\r\n';
const OFFER = 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings';
const ONCE = `${HEALTH}${CLOSE}\r\n\r\n`;

/** The key is put in for KEY when the gateway runs. */
function call(lines: readonly string[], body = ''): string {
  const head = [`POST ${CALL} HTTP/1.1`, 'Host: h', 'X-API-Key: KEY', 'Content-Type: application/json'];
  return `${[...head, ...lines].join('\r\n')}\r\n\r\n${body}`;
}
const health = (...lines: string[]): string => `${HEALTH}${lines.join('\r\n')}\r\n${CLOSE}\r\n\r\n`;
const withLength = (value: string): string => call([`Content-Length: ${value}`, CLOSE], '{}');
const encoded = (value: string): string => call([`Transfer-Encoding: ${value}`, CLOSE], CHUNKS);
const chunks = (body: string): string => call([CHUNKED, CLOSE], body);
const sized = (size: string): string => chunks(`${size}\r\n{}\r\n${LAST}`);
const version = (text: string): string => `GET /healthz ${text}\r\nHost: h\r\n${CLOSE}\r\n\r\n`;
const target = (text: string): string => `GET ${text} HTTP/1.1\r\nHost: h\r\n${CLOSE}\r\n\r\n`;
function upgrade(path: string, offer = 'websocket', ...lines: string[]): string {
  const head = [`GET ${path} HTTP/1.1`, 'Host: h', 'Connection: Upgrade', `Upgrade: ${offer}`, ...lines];
  const handshake = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AQEBAQEBAQEBAQEBAQEBAQ=='];
  return `${[...head, ...handshake, 'Sec-WebSocket-Protocol: svc-agent.v1'].join('\r\n')}\r\n\r\n`;
}
const wrongKey = (name: string): string => call([TWO], '{}').replace('KEY', name);

type Case = readonly [title: string, bytes: string, outcome: string, withinMs?: number];

const sendAll = (cases: readonly Case[]): void => {
  const timed = cases.map(
    ([title, bytes, outcome, withinMs = 2000]) => [title, bytes, outcome, withinMs] as const,
  );
  test.concurrent.each(timed)('%s', async (_title, bytes, outcome, withinMs) => {
    expect(await outcomeOf(gateway.port, bytes.replaceAll('KEY', key), withinMs)).toBe(outcome);
  });
};

describe('where a body ends', () => {
  sendAll([
    ['a length and chunks', call([TWO, CHUNKED, CLOSE], CHUNKS), REFUSED],
    ['chunks and a length', call([CHUNKED, TWO, CLOSE], CHUNKS), REFUSED],
    ['chunks and a length by HTTP/1.0', call([CHUNKED, TWO], CHUNKS).replace('1.1', '1.0'), REFUSED],
    ['chunks by HTTP/1.0', call([CHUNKED, KEEP], CHUNKS).replace('1.1', '1.0') + ONCE, REFUSED],
    ['chunks of a GET by HTTP/1.0', `${OLD_HEALTH}${CHUNKED}\r\n${KEEP}\r\n\r\n${CHUNKS}${ONCE}`, REFUSED],
    ['two equal lengths', call([TWO, TWO, CLOSE], '{}'), REFUSED],
    ['two lengths', call([TWO, 'Content-Length: 3', CLOSE], '{}'), REFUSED],
    ...[
      '-1',
      '+2',
      '0x2',
      '2.0',
      '1e1',
      '2, 2',
      '2,3',
      '2 2',
      '2;',
      '',
      '18446744073709551618',
      '9'.repeat(40),
    ].map((value): Case => [`the length ${JSON.stringify(value)}`, withLength(value), REFUSED]),
    ['a length with leading zeros', withLength('002'), TAKEN],
    ...[
      'gzip, chunked',
      'chunked, gzip',
      'chunked, chunked',
      'chunked, identity',
      'identity',
      'xchunked',
      'chunked;q=1',
      '"chunked"',
      'chunked,',
      ',chunked',
      '\x0bchunked',
      '\x0cchunked',
      '\xa0chunked',
      '',
    ].map((value): Case => [`the encoding ${JSON.stringify(value)}`, encoded(value), REFUSED]),
    ['an encoding in another case', encoded('ChunKed'), TAKEN],
    [
      'an encoding with a blank before its colon',
      call(['Transfer-Encoding : chunked', CLOSE], CHUNKS),
      REFUSED,
    ],
    ['an encoding spelt otherwise is none', call(['Transfer_Encoding: chunked', TWO, CLOSE], '{}'), TAKEN],
    ['a body of a GET', `${HEALTH}${TWO}\r\n\r\n{}${ONCE}`, '200 | 200'],
    ['a chunked body of a GET', `${HEALTH}${CHUNKED}\r\n\r\n${CHUNKS}`, '200'],
  ]);
});

describe('chunks', () => {
  sendAll([
    ['small extensions', chunks(`2;a=b;c="d"\r\n{}\r\n0;e\r\n\r\n`), TAKEN],
    ['an extension of 20 KB', chunks(`2;${'a'.repeat(20_000)}\r\n{}\r\n${LAST}`), REFUSED],
    ['an endless extension', chunks(`2;${'a'.repeat(3_000_000)}`), REFUSED],
    ['an extension that ends with LF', chunks(`2;a\n{}\r\n${LAST}`), REFUSED],
    ['CR in an extension', chunks(`2;a\rb\r\n{}\r\n${LAST}`), REFUSED],
    ...['10000000000000002', 'F'.repeat(17), '-2', '+2', '0x2', ' 2', '2 ', '', 'g', '2\0'].map(
      (size): Case => [`the size ${JSON.stringify(size)}`, sized(size), REFUSED],
    ),
    ['a size of 16 digits that never comes', sized('F'.repeat(16)), '408 GATEWAY_REQUEST_TIMEOUT', 3500],
    ['a size with leading zeros', sized('0002'), TAKEN],
    ['more than its size', chunks(`2\r\n{} \r\n${LAST}`), REFUSED],
    ['no line end behind it', chunks(`2\r\n{}${LAST}`), REFUSED],
    ['lines that end with LF', chunks('2\n{}\n0\n\n'), REFUSED],
    ['a trailer', chunks('2\r\n{}\r\n0\r\nX-A: b\r\n\r\n'), TAKEN],
    ['a trailer with a length', chunks('2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n'), REFUSED],
    ['a trailer with an encoding', chunks(`2\r\n{}\r\n0\r\n${CHUNKED}\r\n\r\n`), REFUSED],
    ['a trailer of 20 KB', chunks(`2\r\n{}\r\n0\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`), REFUSED],
    [
      'a key in a trailer',
      call([CHUNKED, CLOSE], '2\r\n{}\r\n0\r\nX-API-Key: KEY\r\n\r\n').replace('X-API-Key: KEY\r\n', ''),
      WRONG_KEY,
    ],
  ]);
});

describe('lines', () => {
  sendAll([
    ['a folded value', health('X-A: b', ' c'), REFUSED],
    ['a folded key', call([TWO, CLOSE], '{}').replace('KEY', '\r\n KEY'), REFUSED],
    ['a blank before the first header', `GET /healthz HTTP/1.1\r\n Host: h\r\n${CLOSE}\r\n\r\n`, REFUSED],
    ['LF alone', 'GET /healthz HTTP/1.1\nHost: h\nConnection: close\n\n', REFUSED],
    ['LF in a value', health('X-A: b\nX-B: c'), REFUSED],
    ['CR in a value', health('X-A: b\rX-B: c'), REFUSED],
    ['CR CR LF', health('X-A: b\r'), REFUSED],
    ['LF as the last', `${HEALTH}${CLOSE}\r\n\n`, REFUSED],
    ['a blank before the colon', health('X-A : b'), REFUSED],
    ['a blank in a name', health('X A: b'), REFUSED],
    ['no name', health(': b'), REFUSED],
    ['no colon', health('XA'), REFUSED],
    ['NUL in a value', health('X-A: b\0c'), REFUSED],
    ['NUL in a name', health('X\0A: b'), REFUSED],
    ['DEL in a value', health('X-A: b\x7fc'), REFUSED],
    ['a control character in a value', health('X-A: b\x01c'), REFUSED],
    ['8 bits in a name', health('X\xe9: b'), REFUSED],
    ['8 bits in a value', health('X-A: \xe9\xff\x80'), '200'],
    ['8 bits in a target', target('/\xff'), REFUSED],
    ['NUL in a target', target('/heal\0thz'), REFUSED],
    ['empty lines before', `\r\n\r\n${ONCE}`, '200'],
    ['a request behind the last', ONCE + ONCE, '200'],
    ['a request behind the last call', call([TWO, CLOSE], '{}') + ONCE, TAKEN],
    ['no HTTP behind the last call', `${call([TWO, CLOSE], '{}')}\u0000\u0001`, TAKEN],
    ['TLS', '\x16\x03\x01\0\xf5\x01\0\0\xf1\x03\x03', REFUSED],
  ]);
});

describe('how much', () => {
  sendAll([
    ['16,000 bytes of a value', health(`X-A: ${'a'.repeat(16_000)}`), '200'],
    ['17,000 bytes of a value', health(`X-A: ${'a'.repeat(17_000)}`), TOO_LARGE],
    ['17,000 bytes of a name', health(`${'a'.repeat(17_000)}: b`), TOO_LARGE],
    ['17,000 bytes of a target', target(`/${'a'.repeat(17_000)}`), TOO_LARGE],
    [
      '17,000 bytes of an address that is forwarded',
      health(`X-Forwarded-For: ${'1,'.repeat(8500)}`),
      TOO_LARGE,
    ],
    ['3,000 headers', `${HEALTH}${'a:b\r\n'.repeat(3000)}${CLOSE}\r\n\r\n`, '200'],
    [
      'a second key behind 2,500 headers',
      call([TWO, ...Array<string>(2500).fill('a:b'), 'X-API-Key: b', CLOSE], '{}'),
      REFUSED,
    ],
    [
      'a second length behind 2,500 headers',
      call([TWO, ...Array<string>(2500).fill('a:b'), 'Content-Length: 3', CLOSE], '{}'),
      REFUSED,
    ],
  ]);
});

describe('versions, methods and targets', () => {
  sendAll([
    ['HTTP/0.9', 'GET /healthz\r\n\r\n', REFUSED],
    ['HTTP/1.0 without a host', 'GET /healthz HTTP/1.0\r\n\r\n', '200'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', REFUSED],
    ...[
      'HTTP/2.0',
      'HTTP/1.2',
      'HTTP/3.0',
      'HTTP/1.11',
      'HTTP/01.1',
      'HTTP/1.',
      'HTTP/1,1',
      'http/1.1',
      'ICE/1.0',
      'HTTP/1.1 ',
    ].map((text): Case => [JSON.stringify(text), version(text), REFUSED]),
    ['HTTP/2.0 without a host', 'GET /healthz HTTP/2.0\r\nConnection: close\r\n\r\n', REFUSED],
    ['a method in small letters', ONCE.replace('GET', 'get'), REFUSED],
    ['tabs between the words', ONCE.replaceAll(/(?<=GET) | (?=HTTP)/g, '\t'), REFUSED],
    ['a blank before the method', ` ${ONCE}`, REFUSED],
    ['a blank in the target', target('/heal thz'), REFUSED],
    ['TRACE', ONCE.replace('GET', 'TRACE'), WRONG_METHOD],
    ['CONNECT to a host', 'CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n', REFUSED],
    ['CONNECT to a path', `CONNECT ${CALL} HTTP/1.1\r\nHost: h\r\n\r\n${ONCE}`, WRONG_METHOD],
    ['a whole URL', target('http://h/healthz'), REFUSED],
    ['a whole URL of another host', target('http://other/openapi.json'), REFUSED],
    ['no path', target('healthz'), REFUSED],
    ['the asterisk', target('*'), REFUSED],
    ['two equal hosts', health('Host: h'), REFUSED],
    ['no host', `GET /healthz HTTP/1.1\r\n${CLOSE}\r\n\r\n`, REFUSED],
  ]);
});

describe('upgrades', () => {
  sendAll([
    ['where there is none, with a request behind', upgrade('/healthz') + ONCE, REFUSED],
    ['of a call, with its body', call(['Connection: Upgrade', 'Upgrade: websocket', TWO], '{}'), REFUSED],
    [
      'of the agent endpoint by POST',
      upgrade('/ws/agent', 'websocket', 'Content-Length: 9').replace('GET', 'POST'),
      WRONG_METHOD,
    ],
    [
      'to HTTP/2 is ignored, and so its body is read',
      call(['Connection: Upgrade', 'Upgrade: h2c', TWO], '{}') + ONCE,
      `${TAKEN} | 200`,
    ],
    [
      'to HTTP/2 with a length and chunks',
      call(['Connection: Upgrade', 'Upgrade: h2c', TWO, CHUNKED], CHUNKS),
      REFUSED,
    ],
    ['to HTTP/2 by who wants the connection closed', upgrade('/healthz', 'h2c', CLOSE), '200'],
    // Without a host it is a request of HTTP/1.0 only, and only that version ends the connection unasked.
    ['to HTTP/2 by HTTP/1.0', `${OLD_HEALTH}${OFFER}\r\n\r\n${ONCE}`, '200'],
    [
      'to HTTP/2 by HTTP/1.0 on a connection that is kept',
      `${OLD_HEALTH}${OFFER}, Keep-Alive\r\n\r\n${ONCE}`,
      '200 | 200',
    ],
    ['to HTTP/2 by HTTP/1.0 with chunks', `${OLD_HEALTH}${CHUNKED}\r\n${OFFER}\r\n\r\n${CHUNKS}`, REFUSED],
    ['to something that Connection does not name', health('Upgrade: websocket'), '200'],
    // What stands behind an unanswered request must not be answered in its place, nor end the gateway.
    ['of the agent endpoint behind an unanswered call', wrongKey('one') + upgrade('/ws/agent'), CLOSED],
    ['where there is none behind an unanswered call', wrongKey('two') + upgrade('/healthz'), CLOSED],
    ['to HTTP/2 behind an unanswered call', wrongKey('three') + upgrade('/healthz', 'h2c'), CLOSED],
    ['of the agent endpoint behind an answered request', `${HEALTH}\r\n${upgrade('/ws/agent')}`, '200'],
    ['behind two', `${HEALTH}\r\n${wrongKey('four')}${upgrade('/ws/agent')}`, '200'],
  ]);

  test('to HTTP/2, fifty on one connection', async () => {
    const connection = await dial(gateway.port);
    for (let count = 1; count <= 50; count++) {
      connection.send(upgrade('/healthz', 'h2c'));
      await expect.poll(() => answersIn(connection.text()).length, { interval: 2 }).toBe(count);
    }
    connection.socket.destroy();
    await connection.ended;
  });
});

describe('one connection', () => {
  sendAll([
    ['requests in a row', `${HEALTH}\r\n`.repeat(50) + ONCE, Array(51).fill('200').join(' | ')],
    [
      'calls and others keep their turn',
      call([TWO], '{}') + `${HEALTH}\r\n` + call([TWO], '{}') + ONCE,
      `${TAKEN} | 200 | ${TAKEN} | 200`,
    ],
    ['nonsense behind an answered request', `${HEALTH}\r\nnonsense\r\n\r\n`, '200'],
    ['an expectation by HTTP/1.0', call([TWO, 'Expect: 100-continue'], '{}').replace('1.1', '1.0'), TAKEN],
    ['a second expectation', call([TWO, 'Expect: 100-continue', 'Expect: a', CLOSE], '{}'), `100 | ${TAKEN}`],
  ]);

  test('half closed behind its request gets its answer', async () => {
    const connection = await dial(gateway.port);
    connection.socket.end(call([TWO], '{}').replace('KEY', key));
    expect(answersIn(await connection.ended)).toEqual([TAKEN]);
  });

  test.each([
    ['the head', HEALTH.slice(0, 20)],
    ['the body', call([TWO], '{')],
    ['a chunk', call([CHUNKED], '2\r\n{')],
  ])('half closed within %s is closed', async (_title, bytes) => {
    const connection = await dial(gateway.port);
    connection.socket.end(bytes.replace('KEY', key));
    const answers = answersIn(await connection.ended);
    expect([[], [REFUSED]]).toContainEqual(answers);
  });

  test('byte by byte', async () => {
    const connection = await dial(gateway.port);
    const received = Buffer.from(call([CHUNKED, CLOSE], CHUNKS).replace('KEY', key));
    for (const byte of received) {
      connection.send(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(answersIn(await connection.ended)).toEqual([TAKEN]);
  });
});
