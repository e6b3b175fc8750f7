import { dial } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APP, BOOK, failure, ODD, startBooks, type Books } from './books.testing.ts';
import { codeOf, JSON_TYPE, recordsOf } from './lone-gateway.testing.ts';
import { parseAnswer, speak, type RawAnswer } from './raw-http.testing.ts';

let books: Books;
beforeAll(async () => {
  books = await startBooks();
});
afterAll(() => books.service.stop());

describe('what the agent refuses', { tags: ['error:shape'] }, () => {
  test('parameters: every one and why, on one line', { tags: ['error:AGENT_INVALID_PARAMS'] }, async () => {
    const answer = await books.call('get_book', { id: -5, note: 's3cret', other: 's3cret' });
    expect([answer.status, codeOf(answer)]).toEqual([400, 'AGENT_INVALID_PARAMS']);
    const { error }: { error: { message: string } } = JSON.parse(answer.body);
    expect(error.message.split('; ').map((part) => part.split(':')[0])).toEqual(['id', 'note', 'other']);
    expect(error.message).toMatch(/^id: must be >= 1; note: [^\n]+; other: [^\n]+$/);
    expect(error.message).not.toMatch(/s3cret|-5/);
    const missing = await books.call('get_book', {});
    expect(missing.body).toMatch(/"message":"id: [^;]*required/);
  });

  test.each([
    ['a query that takes too long', 'slow', { seconds: 20 }, 504, 'AGENT_QUERY_TIMEOUT'],
    ['a row that is too large', 'large_row', {}, 502, 'AGENT_RESULT_TOO_LARGE'],
    ['too many rows under on_limit: error', 'whole_list', {}, 502, 'AGENT_RESULT_TOO_LARGE'],
    ['a query that fails', 'divide', { by: 0 }, 502, 'AGENT_QUERY_FAILED'],
  ])(
    '%s',
    { tags: ['error:AGENT_QUERY_TIMEOUT', 'error:AGENT_RESULT_TOO_LARGE', 'error:AGENT_QUERY_FAILED'] },
    async (_title, name, params, status, code) => {
      expect(await failure(books.call(name, params))).toEqual([status, code]);
    },
  );
});

test('X-Request-Id is on every answer, and a valid one is kept', { tags: ['error:request-id'] }, async () => {
  const ask = (path: string, id: string): Promise<RawAnswer> =>
    books.get(path, undefined, { 'X-Request-Id': id });
  for (const path of ['/healthz', '/nothing', '/openapi.json', '/ws/agent']) {
    for (const id of ['a', 'A-Z.a_z-0.9', 'x'.repeat(128)])
      expect((await ask(path, id)).header('x-request-id')).toBe(id);
    for (const id of ['', 'x'.repeat(129), 'two words', 'semi;colon', 'caf%C3%A9', '{}']) {
      const given = (await ask(path, id)).header('x-request-id');
      expect(given).not.toBe(id);
      expect(given).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    }
  }
  const [one, two] = [await books.call('get_book', { id: 1 }), await books.call('get_book', { id: 1 })];
  expect(one.header('x-request-id')).not.toBe(two.header('x-request-id'));
  const unparsable = await speak(books.service.port, ['NO HTTP AT ALL']);
  expect(unparsable.status).toBe(400);
  expect(codeOf(unparsable)).toBe('GATEWAY_INVALID_REQUEST');
  expect(unparsable.header('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
});

test('304 and 200 can be read by a page of an allowed origin', { tags: ['cors:response'] }, async () => {
  const whole = await books.get('/openapi.json', 'all', { Origin: APP });
  const etag = whole.header('etag') ?? '';
  const unchanged = await books.get('/openapi.json', 'all', { Origin: APP, 'If-None-Match': etag });
  const rows = await books.call('get_book', { id: 1 }, { headers: { ...JSON_TYPE, Origin: APP } });
  expect([whole.status, unchanged.status, rows.status]).toEqual([200, 304, 200]);
  for (const answer of [whole, unchanged, rows]) {
    expect(answer.header('access-control-allow-origin')).toBe(APP);
    expect(answer.header('vary')).toBe('Origin');
    expect(answer.header('access-control-expose-headers')).toContain('ETag');
  }
});

describe('the log', () => {
  const recordOf = async (answer: RawAnswer): Promise<Readonly<Record<string, unknown>> | undefined> => {
    const id = answer.header('x-request-id') ?? 'none';
    await books.service.gateway.waitForLine((line) => line.includes(`"${id}"`));
    const records = recordsOf(books.service.gateway).filter((record) => record['request_id'] === id);
    expect(records).toHaveLength(1);
    return records[0];
  };

  test(
    'has one record for a request, with all its fields',
    { tags: ['log:request', 'key:name'] },
    async () => {
      const common = {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        level: 'info',
        event: 'request',
        request_id: expect.any(String),
        method: 'POST',
        route: '/api/v1/capabilities/{name}',
        source: '127.0.0.1',
        duration_ms: expect.any(Number),
      };
      const good = await books.call('get_book', { id: 1 }, { key: 'some' });
      expect(await recordOf(good)).toEqual({
        ...common,
        api_key_name: 'some',
        capability: 'get_book',
        http_status: 200,
        error_code: '',
      });
      const forbidden = await books.call('divide', {}, { key: 'some' });
      expect(await recordOf(forbidden)).toEqual({
        ...common,
        api_key_name: 'some',
        capability: 'divide',
        http_status: 403,
        error_code: 'GATEWAY_CAPABILITY_NOT_PERMITTED',
      });
      expect(await recordOf(await books.get('/nothing?x=1', 'all'))).toEqual({
        ...common,
        method: 'GET',
        route: '',
        api_key_name: '',
        capability: '',
        http_status: 404,
        error_code: 'GATEWAY_NOT_FOUND',
      });
      expect(await recordOf(await books.get('/healthz', undefined))).toMatchObject({
        route: '/healthz',
        api_key_name: '',
        capability: '',
        http_status: 200,
        error_code: '',
      });
    },
  );

  test('has one for what is no HTTP, too', { tags: ['log:request', 'log:one-line'] }, async () => {
    const answer = await speak(books.service.port, ['NO HTTP\u0085 AT {"event":"request"} ALL']);
    expect(await recordOf(answer)).toMatchObject({
      http_status: 400,
      method: '',
      route: '',
      source: '127.0.0.1',
      error_code: 'GATEWAY_INVALID_REQUEST',
    });
  });

  test('measures how long a request took', { tags: ['log:request'] }, async () => {
    const record = await recordOf(await books.call('slow', { seconds: 0.3 }));
    expect(record?.['duration_ms']).toBeGreaterThanOrEqual(300);
    expect(record?.['duration_ms']).toBeLessThan(5000);
  });

  test('keeps to one line a record whatever comes', { tags: ['log:one-line'] }, async () => {
    const odd = await books.call('get_book', { id: 1 }, { key: ODD });
    expect(await recordOf(odd)).toMatchObject({ api_key_name: ODD });
    const hostile = [
      'POST /api/v1/capabilities/a%0A{"event":"request"} HTTP/1.1',
      'PROPFIND /healthz?%0d%0a{"event":"request"} HTTP/1.1',
      'GET /\u0085\u00ff"\\ HTTP/1.1',
      'POST /api/v1/capabilities/"},{"event":"request HTTP/1.1',
    ];
    for (const line of hostile) {
      const answer = await speak(books.service.port, [
        line,
        'Host: h\u0085',
        'X-Request-Id: a"}\u0085{"event":"request"',
        `X-API-Key: ${books.keys.get('all') ?? ''}`,
        'X-Forwarded-For: \u0085{"event":"request"}',
        'traceparent: \u0085"}',
      ]);
      await recordOf(answer);
    }
    // Throws at a line that is no JSON.
    for (const record of recordsOf(books.service.gateway)) {
      expect(record).toMatchObject({
        time: expect.any(String),
        level: expect.any(String),
        event: expect.any(String),
      });
      if (record['event'] === 'request') expect(Object.keys(record)).toHaveLength(12);
    }
    // No control character but the end of a line, and nothing that some readers take for one.
    expect(books.service.gateway.output('stdout').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
  });
});

// The rest breaks the service step by step.
describe('when the agent goes', () => {
  test(
    'health and readiness while it is there',
    {
      tags: [
        'health:ok',
        'health:agent_connected',
        'health:no-key',
        'health:readyz',
        'state:connect',
        'log:agent_connected',
      ],
    },
    async () => {
      for (const path of ['/healthz', '/readyz']) {
        const answer = await books.get(path, undefined);
        expect([answer.status, answer.body]).toEqual([200, '{"ok":true,"agent_connected":true}']);
        expect(answer.header('content-type')).toBe('application/json');
      }
      expect(recordsOf(books.service.gateway)).toContainEqual({
        time: expect.any(String),
        level: 'info',
        event: 'agent_connected',
        conn_id: expect.stringMatching(/./),
        instance_id: expect.stringMatching(/./),
        key_id: expect.stringMatching(/./),
        source: '127.0.0.1',
        capabilities: 6,
      });
    },
  );

  test(
    'an agent that stands still: 504 after the time of the capability and 2 s',
    { tags: ['error:GATEWAY_AGENT_TIMEOUT'] },
    async () => {
      const agent = books.service.agents[0];
      agent?.signal('SIGSTOP');
      const started = performance.now();
      const outcome = await failure(books.call('slow', { seconds: 0 })).finally(() =>
        agent?.signal('SIGCONT'),
      );
      expect(outcome).toEqual([504, 'GATEWAY_AGENT_TIMEOUT']);
      expect(performance.now() - started).toBeGreaterThan(2900);
      expect(performance.now() - started).toBeLessThan(15_000);
      // The agent is still connected, and serves.
      expect((await books.call('slow', { seconds: 0 })).status).toBe(200);
    },
  );

  test(
    'an agent that is lost in the middle of a call: 503, and so is the next call',
    {
      tags: [
        'error:GATEWAY_AGENT_OFFLINE',
        'state:offline',
        'health:agent_connected',
        'health:readyz',
        'log:agent_disconnected',
      ],
    },
    async () => {
      const pending = books.call('slow', { seconds: 0.9 });
      await expect.poll(async () => (await activeSleeps()).length).toBe(1);
      books.service.agents[0]?.signal('SIGKILL');
      for (const answer of [await pending, await books.call('get_book', { id: 1 })]) {
        expect(answer.status).toBe(503);
        expect(answer.body).toBe(
          '{"error":{"code":"GATEWAY_AGENT_OFFLINE","message":"agent is not connected"}}',
        );
      }
      const health = await books.get('/healthz', undefined);
      expect([health.status, health.body]).toEqual([200, '{"ok":true,"agent_connected":false}']);
      const ready = await books.get('/readyz', undefined);
      expect([ready.status, ready.body]).toEqual([503, '{"ok":false,"agent_connected":false}']);
      await books.service.gateway.waitForLine((line) => line.includes('"event":"agent_disconnected"'));
      expect(recordsOf(books.service.gateway)).toContainEqual({
        time: expect.any(String),
        level: 'info',
        event: 'agent_disconnected',
        conn_id: expect.stringMatching(/./),
        instance_id: expect.stringMatching(/./),
        reason: expect.stringMatching(/./),
      });
    },
  );

  async function activeSleeps(): Promise<unknown[]> {
    return await books.database.query(
      "select 1 from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()",
    );
  }

  test('another agent takes over', { tags: ['state:connect'] }, async () => {
    await books.service.startAgent();
    expect((await books.get('/readyz', undefined)).status).toBe(200);
    expect((await books.call('get_book', { id: 1 })).body).toBe(BOOK);
  });

  test(
    'during shutdown health and readiness are 503, and calls in flight are finished',
    { tags: ['health:ok', 'health:readyz', 'log:shutting_down'] },
    async () => {
      const pending = books.call('slow', { seconds: 0.8 });
      const probes = await Promise.all(
        ['/healthz', '/readyz'].map(async (path) => {
          const probe = await dial(books.service.port);
          // Half a request keeps the connection open while the gateway goes.
          probe.send(`GET ${path} HTTP/1.1\r\n`);
          return probe;
        }),
      );
      await expect.poll(async () => (await activeSleeps()).length).toBe(1);
      books.service.gateway.signal('SIGTERM');
      await books.service.gateway.waitForLine((line) => line.includes('"event":"shutting_down"'));
      for (const probe of probes) {
        probe.send('Host: h\r\n\r\n');
        const answer = parseAnswer(await probe.ended);
        expect(answer.status).toBe(503);
        expect(JSON.parse(answer.body)).toMatchObject({ ok: false });
      }
      expect((await pending).status).toBe(200);
      expect(await books.service.gateway.exited).toEqual({ code: 0, signal: null });
      expect(recordsOf(books.service.gateway)).toContainEqual(
        expect.objectContaining({ event: 'shutting_down', level: 'info', signal: 'SIGTERM' }),
      );
    },
  );
});
