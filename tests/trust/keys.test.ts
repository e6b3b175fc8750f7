import { COST_AS_CREATED, createKey, dial, type CreatedKey } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CALL,
  gatewayEnvironment,
  startLoneGateway,
  type LoneGateway,
} from '../requirements/lone-gateway.testing.ts';
import { answersIn, expectUnharmed, outcomeOf } from './attack.testing.ts';

const TAKEN = '503 GATEWAY_AGENT_OFFLINE';
const WRONG = '401 GATEWAY_UNAUTHORIZED';
const REFUSED = '400 GATEWAY_INVALID_REQUEST';
/** As many as the gateway lets wait on one connection. */
const AT_ONCE = 100;
/** A tenth of what comparing 2,000 keys at the cost of created ones takes. */
const WITHIN_MS = 15_000;

// A published test vector of bcrypt, 72 bytes long.
const LONGEST = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const FOREIGN = {
  name: 'longest',
  key_hash: '$2b$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui',
  capabilities: ['*'],
};

let one: CreatedKey;
let two: CreatedKey;
let gateway: LoneGateway;
beforeAll(async () => {
  [one, two] = await Promise.all([
    createKey('one', '*', { cost: COST_AS_CREATED }),
    createKey('two', '*', { cost: COST_AS_CREATED }),
  ]);
  gateway = await startLoneGateway(await gatewayEnvironment([one.record, two.record, FOREIGN]));
});
afterAll(async () => {
  await expectUnharmed(gateway);
  await gateway.process.stop();
});

const PATHS = [
  ['REST', `POST ${CALL}`, TAKEN],
  ['MCP', 'POST /mcp', '200'],
  ['OpenAPI', 'GET /openapi.json', TAKEN],
] as const;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

function request(start: string, lines: readonly string[], last = 'Connection: close'): string {
  const head = [`${start} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...lines];
  return `${[...head, `Content-Length: ${PING.length}`, last].join('\r\n')}\r\n\r\n${PING}`;
}

type Case = readonly [title: string, lines: () => readonly string[], outcome: string];
const secretOf = (key: string): string => key.slice(key.indexOf('_', 4) + 1);
const idOf = (key: string): string => key.slice(0, key.indexOf('_', 4) + 1);
const bearer = (key: string): string[] => [`Authorization: Bearer ${key}`];
const plain = (key: string): string[] => [`X-API-Key: ${key}`];

describe.each(PATHS)('over %s', (_face, start, taken) => {
  test.each<Case>([
    ['a key', () => bearer(one.api_key), 'taken'],
    ['blanks around a key', () => [`X-API-Key: \t ${one.api_key} \t`], 'taken'],
    ['several blanks behind the scheme', () => bearer(`   ${one.api_key}  `), 'taken'],
    ['72 bytes', () => plain(LONGEST), 'taken'],
    ['71 of them', () => plain(LONGEST.slice(0, -1)), WRONG],
    ['73 bytes', () => bearer(`${LONGEST}9`), WRONG],
    ['72 bytes and another blank word', () => plain(`${LONGEST} x`), WRONG],
    ['16,000 bytes', () => plain('k'.repeat(15_000)), WRONG],
    ['8 bits', () => plain('caf\xe9'), WRONG],
    ['8 bits behind a key', () => bearer(`${one.api_key}\xa0`), WRONG],
    ['NUL', () => plain('a\0b'), REFUSED],
    ['NUL behind 72 bytes', () => plain(`${LONGEST}\0`), REFUSED],
    ['DEL', () => bearer('a\x7fb'), REFUSED],
    ['a tab', () => plain('a\tb'), WRONG],
    ['a tab behind the scheme', () => [`Authorization: Bearer\t${one.api_key}`], WRONG],
    ['the scheme alone', () => ['Authorization: Bearer'], WRONG],
    ['the scheme twice', () => bearer(`Bearer ${one.api_key}`), WRONG],
    ['two keys behind it', () => bearer(`${one.api_key} ${two.api_key}`), WRONG],
    ['two keys with a comma', () => bearer(`${one.api_key},${two.api_key}`), WRONG],
    ['two schemes with a comma', () => [`Authorization: Basic dTpw, Bearer ${one.api_key}`], WRONG],
    ['the scheme with a colon', () => [`Authorization: Bearer: ${one.api_key}`], WRONG],
    ['the scheme with an equals sign', () => [`Authorization: Bearer=${one.api_key}`], WRONG],
    ['a key in quotes', () => bearer(`"${one.api_key}"`), WRONG],
    [
      'a key as Basic',
      () => [`Authorization: Basic ${Buffer.from(`x:${one.api_key}`).toString('base64')}`],
      WRONG,
    ],
    ['a key as Token', () => [`Authorization: Token ${one.api_key}`], WRONG],
    ['a key in base64', () => bearer(Buffer.from(one.api_key).toString('base64')), WRONG],
    ['the scheme in X-API-Key', () => plain(`Bearer ${one.api_key}`), WRONG],
    ['another header', () => [`Api-Key: ${one.api_key}`, `X_API_Key: ${one.api_key}`], WRONG],
    ['a proxy header', () => [`Proxy-Authorization: Bearer ${one.api_key}`], WRONG],
    ['a cookie', () => [`Cookie: X-API-Key=${one.api_key}`], WRONG],
    ['another case', () => bearer(one.api_key.toUpperCase()), WRONG],
    ['one character less', () => bearer(one.api_key.slice(0, -1)), WRONG],
    ['one character more', () => bearer(`${one.api_key}A`), WRONG],
    ['the id alone', () => bearer(idOf(one.api_key)), WRONG],
    ['the secret alone', () => bearer(secretOf(one.api_key)), WRONG],
    ['the secret of another record', () => bearer(idOf(one.api_key) + secretOf(two.api_key)), WRONG],
    ['an unknown id with a known secret', () => bearer(`svc_nobody_${secretOf(one.api_key)}`), WRONG],
    ['a hash', () => bearer(String(one.record['key_hash'])), WRONG],
    ['a foreign hash', () => bearer(FOREIGN.key_hash), WRONG],
    ['the name of a record', () => bearer('one'), WRONG],
    ['both headers, two keys', () => [...bearer(one.api_key), ...plain(two.api_key)], REFUSED],
    ['both headers, one wrong', () => [...bearer('wrong'), ...plain(one.api_key)], REFUSED],
    ['one header thrice', () => [...plain('a'), ...plain('a'), ...plain(one.api_key)], REFUSED],
  ])('%s', async (_title, lines, outcome) => {
    const expected = outcome === 'taken' ? taken : outcome;
    expect(await outcomeOf(gateway.port, request(start, lines()))).toBe(expected);
  });
});

test('every refusal is the same to the byte, over every face', async () => {
  const keys = [
    'wrong',
    idOf(one.api_key) + secretOf(two.api_key),
    `svc_nobody_${secretOf(one.api_key)}`,
    LONGEST.slice(1),
  ];
  const texts = new Set<string>();
  for (const [, start] of PATHS) {
    for (const lines of [...keys.map(bearer), ...keys.map(plain), [], ['Authorization: Basic x']]) {
      const connection = await dial(gateway.port);
      connection.send(request(start, [...lines, 'X-Request-Id: same']));
      texts.add((await connection.ended).replace(/\r\nDate: [^\r]+/i, ''));
    }
  }
  expect([...texts]).toEqual([expect.stringMatching(/^HTTP\/1\.1 401 /)]);
});

test('an unknown id costs no comparison, so that a flood of them does not slow a known key', async () => {
  const known = request(`POST ${CALL}`, bearer(one.api_key));
  expect(await outcomeOf(gateway.port, known)).toBe(TAKEN);
  const secret = secretOf(one.api_key);
  const flood = Array.from({ length: 2000 / AT_ONCE }, async (_, part) => {
    const connection = await dial(gateway.port);
    const requests = Array.from({ length: AT_ONCE }, (_, n) =>
      request(
        `POST ${CALL}`,
        bearer(`svc_n${part}x${n}_${secret}`),
        n === AT_ONCE - 1 ? 'Connection: close' : 'X-A: b',
      ),
    );
    connection.send(requests.join(''));
    return answersIn(await connection.ended);
  });
  const startedAt = performance.now();
  for (let count = 0; count < 20; count++) {
    expect(await outcomeOf(gateway.port, known, WITHIN_MS)).toBe(TAKEN);
  }
  const slowest = performance.now() - startedAt;
  for (const seen of await Promise.all(flood)) expect(seen).toEqual(Array(AT_ONCE).fill(WRONG));
  // 2,000 comparisons at the cost of created keys would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
  expect(slowest).toBeLessThan(WITHIN_MS);
});
