import { describe, expect, test } from 'vitest';
import { freePort, startProcess, SVC_GATEWAY, type RunningProcess, dial } from '@svc/testkit';
import { gatewaysOfThisFile } from './gateways-of-this-file.testing.ts';
import {
  askOnce,
  CALL,
  codeOf,
  JSON_TYPE,
  recordsOf,
  type Environment,
  type LoneGateway,
} from './lone-gateway.testing.ts';
import { parseAnswer } from './raw-http.testing.ts';

const { common, start, asKey } = gatewaysOfThisFile();

describe('who may call', () => {
  const via = (gateway: LoneGateway, forwarded: string | undefined): Promise<number> =>
    gateway
      .ask('GET', '/healthz', { headers: forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded } })
      .then(({ status }) => status);

  test(
    'the allow list holds networks and addresses of both families',
    { tags: ['setting:GATEWAY_IP_ALLOW_LIST'] },
    async () => {
      const gateway = await start({
        GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8, 2001:db8::/32,192.0.2.1, 2001:db9::1',
        GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
      });
      for (const inside of ['10.255.0.1', '2001:db8:1::9', '192.0.2.1', '2001:db9::1', '::ffff:10.0.0.1'])
        expect([inside, await via(gateway, inside)]).toEqual([inside, 200]);
      for (const outside of ['11.0.0.1', '2001:dba::1', '192.0.2.2', '2001:db9::2'])
        expect([outside, await via(gateway, outside)]).toEqual([outside, 403]);
      expect(await via(gateway, undefined)).toBe(403);
    },
  );

  test(
    'the peer itself is judged; without the setting everyone may call',
    { tags: ['setting:GATEWAY_IP_ALLOW_LIST'] },
    async () => {
      expect(await via(await start({ GATEWAY_IP_ALLOW_LIST: '127.0.0.0/8' }), undefined)).toBe(200);
      expect(await via(await start({ GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8' }), undefined)).toBe(403);
      expect(await via(await start(), undefined)).toBe(200);
    },
  );

  test.each([
    ['no proxy is trusted', '', '10.0.0.1', '127.0.0.1'],
    ['a trusted proxy names the caller', '127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['the caller’s own claim is ignored', '127.0.0.0/8', '10.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['a chain of trusted proxies', '127.0.0.1,192.0.2.0/24', '203.0.113.9, 192.0.2.4', '203.0.113.9'],
    ['an IPv6 proxy in the chain', '127.0.0.1,2001:db8::/32', '203.0.113.9, 2001:db8::4', '203.0.113.9'],
    ['nothing forwarded', '127.0.0.1', undefined, '127.0.0.1'],
  ])('%s', { tags: ['setting:GATEWAY_TRUSTED_PROXY_CIDRS'] }, async (_title, trusted, forwarded, source) => {
    const gateway = await start({ GATEWAY_TRUSTED_PROXY_CIDRS: trusted });
    expect(await via(gateway, forwarded)).toBe(200);
    expect(await gateway.requests(1)).toMatchObject([{ source }]);
  });

  test(
    'a trusted proxy that forwards no address is refused',
    { tags: ['setting:GATEWAY_TRUSTED_PROXY_CIDRS'] },
    async () => {
      const gateway = await start({ GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1' });
      expect(await via(gateway, 'nonsense')).toBe(400);
    },
  );
});

describe('how often', () => {
  const statuses = async (gateway: LoneGateway, count: number, from = '192.0.2.1'): Promise<number[]> => {
    const answers: number[] = [];
    for (let done = 0; done < count; done++)
      answers.push((await gateway.ask('GET', '/healthz', { headers: { 'X-Forwarded-For': from } })).status);
    return answers;
  };
  const limits = (rate: string, burst: string): Environment => ({
    GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: rate,
    GATEWAY_RATE_LIMIT_BURST: burst,
    GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
  });

  test('a burst, each source for itself', { tags: ['setting:GATEWAY_RATE_LIMIT_BURST'] }, async () => {
    const gateway = await start(limits('0.001', '3'));
    expect(await statuses(gateway, 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(gateway, 4, '192.0.2.2')).toEqual([200, 200, 200, 429]);
  });

  test('the burst is the rate rounded up', { tags: ['setting:GATEWAY_RATE_LIMIT_BURST'] }, async () => {
    expect(await statuses(await start(limits('0.01', '')), 2)).toEqual([200, 429]);
    // Five requests take far less than the time in which a sixth becomes free.
    const quick = await start(limits('4.01', ''));
    const answers = await Promise.all(Array.from({ length: 30 }, () => statuses(quick, 1)));
    expect(answers.flat().filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(answers.flat()).toContain(429);
  });

  test(
    'the rate is what passes in the long run',
    { tags: ['setting:GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND'] },
    async () => {
      const gateway = await start(limits('2.5', '1'));
      const started = performance.now();
      for (let passed = 0; passed < 4;) passed += (await statuses(gateway, 1)).includes(200) ? 1 : 0;
      // The first is free, three more take 400 ms each.
      expect(performance.now() - started).toBeGreaterThan(1150);
      expect(performance.now() - started).toBeLessThan(6000);
    },
  );

  test('no rate is no limit', { tags: ['setting:GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND'] }, async () => {
    const gateway = await start();
    const answers = await Promise.all(Array.from({ length: 10 }, () => statuses(gateway, 30)));
    expect(new Set(answers.flat())).toEqual(new Set([200]));
  });
});

test('the body limit, to the byte', { tags: ['setting:GATEWAY_MAX_REQUEST_BODY_BYTES'] }, async () => {
  const gateway = await start({ GATEWAY_MAX_REQUEST_BODY_BYTES: '100' });
  const headers = asKey(JSON_TYPE);
  const fits = await gateway.ask('POST', CALL, { headers, body: `{"text":"${'x'.repeat(89)}"}` });
  // It got past the body: there is no agent.
  expect(fits.status).toBe(503);
  const tooLarge = await gateway.ask('POST', CALL, { headers, body: `{"text":"${'x'.repeat(90)}"}` });
  expect(tooLarge.status).toBe(400);
  expect(codeOf(tooLarge)).toBe('GATEWAY_INVALID_REQUEST');
});

test('the time of an idle connection', { tags: ['setting:GATEWAY_KEEP_ALIVE_TIMEOUT'] }, async () => {
  const { port } = await start({ GATEWAY_KEEP_ALIVE_TIMEOUT: '3s' });
  const connection = await dial(port);
  connection.send('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n');
  expect(await connection.until(/\r\n\r\n/)).toMatch(/^Keep-Alive: timeout=1\r$/m);
  const answered = performance.now();
  await connection.ended;
  expect(performance.now() - answered).toBeGreaterThan(2900);
  expect(performance.now() - answered).toBeLessThan(8000);
});

test('the time to read a body', { tags: ['setting:GATEWAY_BODY_READ_TIMEOUT'] }, async () => {
  const { port } = await start({ GATEWAY_BODY_READ_TIMEOUT: '1s' });
  const connection = await dial(port);
  const started = performance.now();
  connection.send(
    `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nX-API-Key: ${common().created.api_key}\r\nContent-Length: 5\r\n\r\n{`,
  );
  const answer = parseAnswer(await connection.ended);
  expect(answer.status).toBe(408);
  expect(performance.now() - started).toBeGreaterThan(950);
  expect(performance.now() - started).toBeLessThan(8000);
});

test.each([
  ['debug', ['info', 'warn']],
  ['info', ['info', 'warn']],
  ['', ['info', 'warn']],
  ['warn', ['warn']],
  ['error', []],
])('log level %j writes %j', { tags: ['setting:GATEWAY_LOG_LEVEL'] }, async (level, written) => {
  const port = await freePort();
  // Without a public URL there is a warning at start.
  const env = { ...common().env, GATEWAY_ADDR: `127.0.0.1:${port}`, GATEWAY_LOG_LEVEL: level };
  const process: RunningProcess = await startProcess(SVC_GATEWAY, [], { env });
  await expect
    .poll(() => askOnce(port, 'GET', '/healthz').catch(() => undefined))
    .toMatchObject({ status: 200 });
  expect(await process.stop()).toEqual({ code: 0, signal: null });
  const records = recordsOf(process);
  expect(new Set(records.map((record) => record['level']))).toEqual(new Set(written));
  expect(records.some((record) => record['event'] === 'request')).toBe(written.includes('info'));
});
