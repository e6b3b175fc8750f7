import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey, runProcess, SVC_GATEWAY, temporaryFolder, type CreatedKey, dial } from '@svc/testkit';
import {
  CALL,
  codeOf,
  gatewayEnvironment,
  JSON_TYPE,
  recordsOf,
  startLoneGateway,
  type LoneGateway,
} from './lone-gateway.testing.ts';
import { parseAnswer, speak, type RawAnswer } from './raw-http.testing.ts';

// The hashes of these plaintexts are the published test vectors of bcrypt.
const SHORT = { plaintext: 'U*U', hash: '05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW' };
const OTHER = { plaintext: 'U*U*', hash: '05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK' };
const LONGEST = {
  plaintext: '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  hash: '05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui',
};
/** Matches nothing and takes about an eighth of a second of CPU to find that out. */
const SLOW_HASH = `$2b$11$${'.'.repeat(53)}`;

function record(
  name: string,
  hash: string,
  capabilities: readonly string[] = ['*'],
): Record<string, unknown> {
  return { name, key_hash: hash, capabilities };
}

let created: CreatedKey;
let stranger: CreatedKey;
let gateway: LoneGateway;
let slow: LoneGateway;
beforeAll(async () => {
  [created, stranger] = await Promise.all([createKey('created', '*'), createKey('stranger', '*')]);
  const foreign = [
    record('short', `$2a$${SHORT.hash}`),
    record('other', `$2y$${OTHER.hash}`),
    record('longest', `$2b$${LONGEST.hash}`),
  ];
  [gateway, slow] = await Promise.all([
    startLoneGateway(await gatewayEnvironment([created.record, ...foreign])),
    startLoneGateway(await gatewayEnvironment([created.record, ...foreign, record('slow', SLOW_HASH)])),
  ]);
});
afterAll(() => Promise.all([gateway.process.stop(), slow.process.stop()]));

/** A call that gets as far as the missing agent, 503, once its key is accepted. */
function call(to: LoneGateway, headers: Readonly<Record<string, string>>): Promise<RawAnswer> {
  return to.ask('POST', CALL, { headers: { ...JSON_TYPE, ...headers }, body: '{}' });
}

/** Empty, over 72 bytes, and not printable ASCII. */
const NO_KEYS = ['', 'x'.repeat(73), 'caf\u00e9', 'tab\there'];

/** The same with a key that Node's own client would not send. */
function presenting(to: LoneGateway, key: string): Promise<RawAnswer> {
  const head = [`POST ${CALL} HTTP/1.1`, 'Host: h', 'Content-Type: application/json', 'Content-Length: 2'];
  return speak(to.port, [...head, `X-API-Key: ${key}`], '{}');
}

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });

describe('a credential', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])(
    'as %s',
    { tags: ['credential:bearer'] },
    async (scheme) => {
      const good = await call(gateway, { Authorization: `${scheme} ${created.api_key}` });
      expect(good.status).toBe(503);
      const bad = await call(gateway, { Authorization: `${scheme} ${created.api_key}x` });
      expect(bad.status).toBe(401);
    },
  );

  test('as X-API-Key', { tags: ['credential:x-api-key'] }, async () => {
    expect((await call(gateway, { 'X-API-Key': created.api_key })).status).toBe(503);
    expect((await call(gateway, { 'x-api-key': `${created.api_key}x` })).status).toBe(401);
  });

  test.each<[string, Record<string, string>]>([
    ['missing', {}],
    ['of another scheme', { Authorization: 'Basic dTpw' }],
    ['without its scheme', { Authorization: 'U*U' }],
    ['empty', { Authorization: 'Bearer ' }],
    ['empty, as X-API-Key', { 'X-API-Key': '' }],
    ['wrong', bearer('wrong')],
    ['in the query', {}],
  ])('that is %s: 401', { tags: ['error:GATEWAY_UNAUTHORIZED'] }, async (title, headers) => {
    const path = title === 'in the query' ? `${CALL}?api_key=${created.api_key}` : CALL;
    const answer = await gateway.ask('POST', path, { headers: { ...JSON_TYPE, ...headers }, body: '{}' });
    expect(answer.status).toBe(401);
    expect(codeOf(answer)).toBe('GATEWAY_UNAUTHORIZED');
    expect(answer.header('www-authenticate')).toBe('Bearer');
  });

  test.each<[string, (key: string) => string[]]>([
    ['two kinds', (key) => [`Authorization: Bearer ${key}`, `X-API-Key: ${key}`]],
    ['Authorization twice, equal', (key) => [`Authorization: Bearer ${key}`, `Authorization: Bearer ${key}`]],
    ['Authorization twice', (key) => [`Authorization: Bearer ${key}`, 'authorization: Basic dTpw']],
    ['X-API-Key twice, equal', (key) => [`X-API-Key: ${key}`, `x-api-key: ${key}`]],
    ['X-API-Key twice', (key) => [`X-API-Key: ${key}`, 'X-API-Key: other']],
    ['two kinds, one without its key', (key) => ['Authorization: Bearer', `X-API-Key: ${key}`]],
  ])('%s: 400', { tags: ['credential:twice'] }, async (_title, lines) => {
    const head = [`POST ${CALL} HTTP/1.1`, 'Host: h', 'Content-Type: application/json', 'Content-Length: 2'];
    const answer = await speak(gateway.port, [...head, ...lines(created.api_key)], '{}');
    expect(answer.status).toBe(400);
    expect(codeOf(answer)).toBe('GATEWAY_INVALID_REQUEST');
  });
});

describe('which records a key is compared with', () => {
  test('a created key opens by its own record', { tags: ['key:key_id'] }, async () => {
    expect((await call(gateway, bearer(created.api_key))).status).toBe(503);
    expect((await call(gateway, bearer(stranger.api_key))).status).toBe(401);
  });

  test.each([
    ['$2a$', SHORT.plaintext, 'short'],
    ['$2y$', OTHER.plaintext, 'other'],
    ['$2b$', LONGEST.plaintext, 'longest'],
  ])(
    'a key hashed elsewhere as %s opens',
    { tags: ['key:foreign', 'key:key_hash', 'key:name'] },
    async (_form, key, name) => {
      const before = recordsOf(gateway.process).length;
      const answer = await call(gateway, { 'X-API-Key': key });
      expect(answer.status).toBe(503);
      const requestId = answer.header('x-request-id');
      await gateway.process.waitForLine((line) => line.includes(String(requestId)));
      expect(recordsOf(gateway.process).slice(before)).toContainEqual(
        expect.objectContaining({ request_id: requestId, api_key_name: name }),
      );
    },
  );

  test('what cannot be a key is refused', { tags: ['key:implausible'] }, async () => {
    // bcrypt itself would find that the first 72 bytes match.
    for (const odd of [`${LONGEST.plaintext}!`, ...NO_KEYS])
      expect((await presenting(gateway, odd)).status).toBe(401);
  });

  test('every kind of wrong key gets the same bytes', { tags: ['key:same-answer'] }, async () => {
    const answers = [
      await call(gateway, bearer(stranger.api_key)),
      await call(gateway, bearer(`${created.api_key.slice(0, -1)}~`)),
      await call(gateway, bearer('wrong')),
      await call(gateway, {}),
    ];
    const comparable = answers.map(({ status, headers, body }) => ({
      status,
      headers: headers.filter(([name]) => name !== 'x-request-id' && name !== 'date'),
      body,
    }));
    expect(comparable[0]?.status).toBe(401);
    for (const answer of comparable) expect(answer).toEqual(comparable[0]);
  });
});

describe('while keys are verified', { timeout: 60_000 }, () => {
  test(
    'four at once, the fifth is refused at once; known keys and keys of no record are not',
    { tags: ['error:GATEWAY_RATE_LIMITED.bcrypt', 'credential:cache', 'key:key_id', 'key:implausible'] },
    async () => {
      expect((await call(slow, bearer(created.api_key))).status).toBe(503);
      const ended: number[] = [];
      const wrong = Array.from({ length: 5 }, async (_, index) => {
        const answer = await call(slow, bearer(`wrong-${index}`));
        ended.push(answer.status);
        return answer;
      });
      const refused = await Promise.race(wrong);
      expect(refused.status).toBe(429);
      expect(codeOf(refused)).toBe('GATEWAY_RATE_LIMITED');
      expect(refused.header('retry-after')).toMatch(/^[1-9]\d*$/);
      // Verified before: no slot is needed.
      expect((await call(slow, bearer(created.api_key))).status).toBe(503);
      expect((await call(slow, bearer(stranger.api_key))).status).toBe(401);
      for (const odd of NO_KEYS) expect((await presenting(slow, odd)).status).toBe(401);
      expect(ended).toEqual([429]);
      await Promise.all(wrong);
      expect(ended).toEqual([429, 401, 401, 401, 401]);
    },
  );

  test('other requests go on', { tags: ['key:event-loop'] }, async () => {
    let over = false;
    const verification = call(slow, bearer('wrong-too')).finally(() => {
      over = true;
    });
    let answered = 0;
    while (!over) {
      expect((await slow.ask('GET', '/healthz')).status).toBe(200);
      answered++;
    }
    expect((await verification).status).toBe(401);
    // A main thread that hashes answers one before it and one after it.
    expect(answered).toBeGreaterThan(3);
  });

  test('first uses of one key share one verification', { tags: ['key:shared-verification'] }, async () => {
    // Of its own: what the tests before have guessed counts against their gateway's budget for this source.
    const fresh = await createKey('fresh', '*');
    const only = await startLoneGateway(await gatewayEnvironment([fresh.record, record('slow', SLOW_HASH)]));
    const took = async (key: string, times: number): Promise<number> => {
      const since = performance.now();
      const answers = await Promise.all(Array.from({ length: times }, () => call(only, bearer(key))));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
      return performance.now() - since;
    };
    const before = await took('wrong-before', 1);
    const together = await took('wrong-together', 40);
    const after = await took('wrong-after', 1);
    // At most four run at once, so that forty of them would take at least ten times as long as one.
    expect(together).toBeLessThan(5 * Math.max(before, after));
    const answers = await Promise.all(Array.from({ length: 30 }, () => call(only, bearer(fresh.api_key))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    await only.process.stop();
  });
});

test('changed records hold after a restart, and only then', { tags: ['key:restart'] }, async () => {
  const folder = await temporaryFolder('restart');
  const path = join(folder.path, 'gateway.env');
  const { GATEWAY_API_KEYS_JSON: _none, ...env } = await gatewayEnvironment();
  const write = (...records: unknown[]): Promise<void> =>
    writeFile(path, `GATEWAY_API_KEYS_JSON='${JSON.stringify(records)}'\n`);
  const statuses = async (to: LoneGateway): Promise<number[]> => [
    (await call(to, bearer(created.api_key))).status,
    (await call(to, bearer(SHORT.plaintext))).status,
  ];
  await write(created.record);
  const before = await startLoneGateway(env, { args: ['--env-file', path] });
  expect(await statuses(before)).toEqual([503, 401]);
  await write(record('short', `$2b$${SHORT.hash}`));
  expect(await statuses(before)).toEqual([503, 401]);
  await before.process.stop();
  const after = await startLoneGateway(env, { args: ['--env-file', path] });
  expect(await statuses(after)).toEqual([401, 503]);
  await after.process.stop();
  await folder.remove();
});

describe('records', () => {
  const fine = record('fine', `$2b$${SHORT.hash}`, ['get']);
  const refusal = async (records: readonly unknown[]): Promise<string> => {
    const env = await gatewayEnvironment(records);
    const { code, stdout, stderr } = await runProcess(SVC_GATEWAY, [], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    return stderr;
  };

  test('at most 100', { tags: ['key:at-most-100'] }, async () => {
    const many = Array.from({ length: 101 }, (_, index) => ({ ...fine, name: `key ${index}` }));
    const full = await startLoneGateway(await gatewayEnvironment(many.slice(0, 100)));
    expect((await full.ask('GET', '/healthz')).status).toBe(200);
    await full.process.stop();
    expect(await refusal(many)).toContain('101 records; accepted: at most 100');
  });

  test(
    'every fault is found at start',
    { tags: ['key:name', 'key:key_hash', 'key:capabilities', 'key:key_id', 'key:unknown-field'] },
    async () => {
      const digest = SHORT.hash.slice(3);
      const text = await refusal([
        fine,
        { ...fine, name: '' },
        { ...fine, name: undefined },
        fine,
        { ...fine, name: 'version', key_hash: `$2x$05$${digest}` },
        { ...fine, name: 'cheap', key_hash: `$2b$03$${digest}` },
        { ...fine, name: 'dear', key_hash: `$2b$17$${digest}` },
        { ...fine, name: 'short', key_hash: `$2b$05$${digest.slice(1)}` },
        { ...fine, name: 'long', key_hash: `$2b$05$${digest}.` },
        { ...fine, name: 'no hash', key_hash: undefined },
        { ...fine, name: 'capability', capabilities: ['Not-A-Name'] },
        { ...fine, name: 'star', capabilities: ['*', 'get'] },
        { ...fine, name: 'text', capabilities: '*' },
        { ...fine, name: 'field', capabilties: ['get'] },
        { ...fine, name: 'id', key_id: 'with_underscore' },
        { ...fine, name: 'one id', key_id: 'abc' },
        { ...fine, name: 'same id', key_id: 'abc' },
      ]);
      const lines = text.trimEnd().split('\n');
      for (const expected of [
        /record 2: name is missing/,
        /record 3: name is missing/,
        /record 4: name "fine" is already that of record 1/,
        /record 5 \("version"\): key_hash /,
        /record 6 \("cheap"\): key_hash /,
        /record 7 \("dear"\): key_hash /,
        /record 8 \("short"\): key_hash /,
        /record 9 \("long"\): key_hash /,
        /record 10 \("no hash"\): key_hash is missing/,
        /record 11 \("capability"\): capabilities entry 1 /,
        /record 12 \("star"\): capabilities /,
        /record 13 \("text"\): capabilities /,
        /record 14 \("field"\): unknown field "capabilties"; did you mean capabilities\?/,
        /record 15 \("id"\): key_id /,
        /record 17: key_id "abc" is already that of record 16/,
      ])
        expect(lines).toContainEqual(expect.stringMatching(expected));
      expect(text).not.toContain(digest.slice(22));
    },
  );

  test.each(['04', '16'])('cost %s is accepted', { tags: ['key:key_hash'] }, async (cost) => {
    const env = await gatewayEnvironment([{ ...fine, key_hash: `$2b$${cost}$${SHORT.hash.slice(3)}` }]);
    const accepted = await startLoneGateway(env);
    expect((await accepted.ask('GET', '/healthz')).status).toBe(200);
    await accepted.process.stop();
  });
});

test(
  'a body is not asked for before the key is known',
  { tags: ['order:authentication-before-authorization'] },
  async () => {
    const connection = await dial(gateway.port);
    connection.send(
      `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nX-API-Key: wrong\r\n` +
        'Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n',
    );
    const text = await connection.ended;
    expect(text).not.toContain('100 Continue');
    expect(parseAnswer(text).status).toBe(401);
  },
);
