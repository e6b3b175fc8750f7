import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { dial } from '@svc/testkit';
import type { Frame, ManifestEntry, RequestFrame } from '@svc/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  agentByHand,
  resultHead,
  smallResult,
  type AgentByHand,
} from '../../agents/agent-by-hand.testing.ts';
import { createCors } from '../../access/cors.ts';
import { createCatalog, type Catalog } from '../../catalog/catalog.ts';
import { offering } from '../../catalog/offer.testing.ts';
import { createRegistry, type Registry } from '../../agents/registry.ts';
import { createResultBudget, type ResultBudget } from '../../agents/result-budget.ts';
import { createCallCapability } from '../../calls/call-capability.ts';
import { createPermitCall } from '../../calls/permit-call.ts';
import { readCredential } from '../../auth/credential.ts';
import { CallError } from '../../core/call-error.ts';
import { keyPrincipal } from '../../core/principal.testing.ts';
import { ask, startServer, type Answer, type StartedServer } from '../../http/server-by-hand.testing.ts';
import { createCompressor, type Compressor } from '../../http/compress.ts';
import type { Authenticate } from '../../auth/authenticate.ts';
import type { Principal } from '../../core/principal.ts';
import { createRestCall } from './call.ts';

const principals: ReadonlyMap<string, Principal> = new Map<string, Principal>([
  ['all', keyPrincipal('all')],
  ['one', keyPrincipal('one', new Set(['get']))],
]);
const authenticate: Authenticate = async (exchange) => {
  const principal = principals.get(readCredential(exchange.headers, false) ?? '');
  if (principal === undefined) throw new CallError('GATEWAY_UNAUTHORIZED');
  exchange.log.apiKeyName = principal.kind === 'api_key' ? principal.name : '';
  return principal;
};

let registry: Registry;
let catalog: Catalog;
let budget: ResultBudget;
let agent: AgentByHand | undefined;
let server: StartedServer;
beforeEach(async () => {
  registry = createRegistry(() => 0);
  catalog = createCatalog(() => {});
  budget = createResultBudget(10_000_000);
  server = await serve();
});
afterEach(async () => {
  agent?.lose();
  agent = undefined;
  await server.close();
});

function serve(compressor?: Compressor): Promise<StartedServer> {
  const handlers = {
    call: createRestCall({
      authenticate,
      permitCall: createPermitCall(createCallCapability(registry, catalog, () => performance.now())),
      bodyLimits: { maxBytes: 1000, timeoutMs: 5000 },
      fieldsOf: () => ['id', 'name'],
      compressor,
    }),
  };
  return startServer(handlers, { cors: createCors(['https://app.example.com']) });
}

function join(more: Partial<ManifestEntry> = {}): AgentByHand {
  agent = agentByHand(budget);
  const manifest = [{ name: 'get', exposed: true, timeout_ms: 5000, ...more }];
  agent.session.setDescription({ manifest });
  registry.add(agent.session);
  const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} };
  catalog.add(offering({ openapi, manifest }));
  return agent;
}

function call(
  name: string,
  options: { key?: string; body?: string | Buffer; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { key = 'all', body = '{}', headers = {} } = options;
  return ask(server.port, `/api/v1/capabilities/${name}`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
    body,
  });
}

/** The request that reaches the agent next. */
async function asked(agent: AgentByHand): Promise<RequestFrame> {
  const find = (): RequestFrame | undefined => agent.received.find((frame) => frame.type === 'request');
  await expect.poll(find, { interval: 2 }).toBeDefined();
  const frame = find();
  if (frame === undefined) throw new Error('no request');
  return frame;
}

const error = (answer: Answer): unknown => JSON.parse(answer.text).error;

test('the rows go out as the agent made them, with their count', async () => {
  const agent = join();
  const answered = call('get');
  await asked(agent);
  const rows = '[{"id":9007199254740993,"name":"Zoë"}]';
  agent.say(smallResult(1, rows, 1));
  const { status, headers, text } = await answered;
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('application/json');
  expect(text).toBe(`{"rows":${rows},"count":1}`);
  expect(await server.recorded(1)).toMatchObject([
    { http_status: 200, api_key_name: 'all', capability: 'get', error_code: '' },
  ]);
});

test('rows that were left out are mentioned', async () => {
  const agent = join();
  const answered = call('get');
  await asked(agent);
  const rows = Buffer.from('[1]');
  const cut: Frame = { type: 'result', id: 1, count: 1, truncated: true, rowsLength: 3, rows, fin: true };
  agent.say(cut);
  expect((await answered).text).toBe('{"rows":[1],"count":1,"truncated":true}');
});

/** All rows of the first call, in frames. */
function answerWith(
  agent: AgentByHand,
  rows: string,
  more: { count?: number; truncated?: boolean } = {},
): void {
  const bytes = Buffer.from(rows);
  const { count = 1, truncated = false } = more;
  const size = 60_000;
  const piece = bytes.subarray(0, size);
  const fin = piece.length === bytes.length;
  agent.say({ type: 'result', id: 1, count, truncated, rowsLength: bytes.length, rows: piece, fin });
  for (let at = size; at < bytes.length; at += size) {
    const more = bytes.subarray(at, at + size);
    agent.say({ type: 'data', id: 1, bytes: more, fin: at + more.length === bytes.length });
  }
}

describe('with paging', { tags: ['rest:next'] }, () => {
  test('an answer that was cut says with what to go on', async () => {
    const agent = join({ paging: { after: 'name' } });
    const answered = call('get');
    await asked(agent);
    const rows = '[{"id":1,"name":"Ada"},{"id":2,"name":"Zoë"}]';
    answerWith(agent, rows, { count: 2, truncated: true });
    expect((await answered).text).toBe(`{"rows":${rows},"count":2,"truncated":true,"next":{"after":"Zoë"}}`);
  });

  test('one that was not cut says nothing', async () => {
    const agent = join({ paging: { after: 'name' } });
    const answered = call('get');
    await asked(agent);
    answerWith(agent, '[{"id":1,"name":"Ada"}]');
    expect((await answered).text).toBe('{"rows":[{"id":1,"name":"Ada"}],"count":1}');
  });
});

describe('in another format', { tags: ['rest:formats'] }, () => {
  test('CSV comes with its count, and with what else JSON has', { tags: ['rest:csv'] }, async () => {
    const agent = join({ paging: { after: 'name' } });
    const answered = call('get', {
      headers: { Accept: 'text/csv, */*;q=0.1', Origin: 'https://app.example.com' },
    });
    await asked(agent);
    answerWith(agent, '[{"id":1,"name":"Ada"},{"id":2,"name":"Zoë, 🐈"}]', { count: 2, truncated: true });
    const { status, headers, text } = await answered;
    expect(text).toBe('id,name\r\n1,Ada\r\n2,"Zoë, 🐈"\r\n');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="get.csv"',
      'content-length': String(Buffer.byteLength(text)),
      'svc-row-count': '2',
      'svc-truncated': 'true',
      'svc-next': '{"after":"Zo\\u00eb, \\ud83d\\udc08"}',
      'access-control-expose-headers': expect.stringMatching(/Svc-Row-Count, Svc-Truncated, Svc-Next.*ETag/),
    });
    expect(headers['vary']?.split(', ').toSorted()).toEqual(['Accept', 'Origin']);
  });

  test('without rows it has the described names', { tags: ['rest:csv'] }, async () => {
    const agent = join();
    const answered = call('get', { headers: { Accept: 'text/csv' } });
    await asked(agent);
    answerWith(agent, '[]', { count: 0 });
    const { headers, text } = await answered;
    expect(text).toBe('id,name\r\n');
    expect(headers['svc-row-count']).toBe('0');
    expect(headers).not.toHaveProperty('svc-truncated');
    expect(headers).not.toHaveProperty('svc-next');
  });

  test('a large result arrives whole, and gives its memory back', { tags: ['rest:ndjson'] }, async () => {
    const agent = join();
    const answered = call('get', { headers: { Accept: 'application/x-ndjson' } });
    await asked(agent);
    const items = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `a "name"\n${id}` }));
    answerWith(agent, JSON.stringify(items), { count: items.length });
    const { headers, text } = await answered;
    expect(headers['content-type']).toBe('application/x-ndjson');
    expect(headers).not.toHaveProperty('content-disposition');
    expect(text).toBe(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
    await expect.poll(() => budget.reservedBytes, { interval: 2 }).toBe(0);
  });

  test('errors are JSON, and so is what the caller would as well have as JSON', async () => {
    join();
    const refused = await call('get', { headers: { Accept: 'text/csv' }, body: '[' });
    expect([refused.status, refused.headers['content-type']]).toEqual([400, 'application/json']);
    agent?.lose();
    const agent2 = join();
    const answered = call('get', { headers: { Accept: 'text/csv, */*' } });
    await asked(agent2);
    answerWith(agent2, '[{"id":1}]');
    const { headers, text } = await answered;
    expect([text, headers['content-type']]).toEqual(['{"rows":[{"id":1}],"count":1}', 'application/json']);
    expect(headers['vary']).toBe('Origin');
  });
});

describe('with compression', { tags: ['setting:GATEWAY_COMPRESS'] }, () => {
  beforeEach(async () => {
    await server.close();
    server = await serve(createCompressor(1));
  });

  const rowsOf = (bytes: number): string => `[{"id":"${'x'.repeat(bytes)}"}]`;

  async function answerTo(rows: string, headers: Record<string, string>): Promise<RawAnswer> {
    const agent = join();
    const answered = fetchRaw(headers);
    await asked(agent);
    answerWith(agent, rows);
    return answered;
  }

  interface RawAnswer {
    readonly headers: IncomingHttpHeaders;
    readonly body: Buffer;
  }

  function fetchRaw(headers: Record<string, string>): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        {
          port: server.port,
          path: '/api/v1/capabilities/get',
          method: 'POST',
          agent: false,
          headers: { 'X-API-Key': 'all', 'Content-Type': 'application/json', ...headers },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
        },
      );
      sent.on('error', reject);
      sent.end('{}');
    });
  }

  test.each([
    ['JSON', {}, `{"rows":${rowsOf(300_000)},"count":1}`],
    ['CSV', { Accept: 'text/csv' }, `id\r\n${'x'.repeat(300_000)}\r\n`],
  ])('a large answer in %s leaves in gzip', async (_title, accept, expected) => {
    const { headers, body } = await answerTo(rowsOf(300_000), { ...accept, 'Accept-Encoding': 'br, gzip' });
    expect(headers['content-encoding']).toBe('gzip');
    expect(headers['vary']).toContain('Accept-Encoding');
    expect(headers).not.toHaveProperty('content-length');
    expect(body.length).toBeLessThan(10_000);
    expect(gunzipSync(body).toString()).toBe(expected);
    await expect.poll(() => budget.reservedBytes, { interval: 2 }).toBe(0);
  });

  test('16 KiB are large', async () => {
    const around = Buffer.byteLength(`{"rows":${rowsOf(0)},"count":1}`);
    const [under, over] = [rowsOf(16_383 - around), rowsOf(16_384 - around)];
    const small = await answerTo(under, { 'Accept-Encoding': 'gzip' });
    agent?.lose();
    const large = await answerTo(over, { 'Accept-Encoding': 'gzip' });
    expect(small.headers).not.toHaveProperty('content-encoding');
    expect(small.headers['vary']).toBe('Origin');
    expect(large.headers['content-encoding']).toBe('gzip');
  });

  test.each([{}, { 'Accept-Encoding': 'br' }, { 'Accept-Encoding': 'gzip;q=0, *' }])(
    'a caller that sends %j gets it as it is',
    async (headers) => {
      const answer = await answerTo(rowsOf(20_000), headers);
      expect(answer.headers).not.toHaveProperty('content-encoding');
      expect(answer.headers['vary']).toContain('Accept-Encoding');
      expect(answer.body.toString()).toBe(`{"rows":${rowsOf(20_000)},"count":1}`);
    },
  );
});

test('the parameters reach the agent byte by byte as they were sent, with whom they come from', async () => {
  const agent = join();
  const body = '{ "id" : 1e2,\n"name":"\\u0041" }';
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const answered = call('get', { key: 'one', body, headers: { 'X-Request-Id': 'r-1', traceparent } });
  const frame = await asked(agent);
  expect(Buffer.from(frame.params).toString()).toBe(body);
  expect({ ...frame.metadata }).toEqual({
    request_id: 'r-1',
    api_key_name: 'one',
    principal: 'key:one',
    traceparent,
  });
  agent.say(smallResult(1));
  await answered;
});

test.each(['nonsense', `00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`, 'x'.repeat(5000)])(
  'a traceparent that is none is not passed on',
  async (traceparent) => {
    const agent = join();
    const answered = call('get', { headers: { traceparent } });
    expect((await asked(agent)).metadata).not.toHaveProperty('traceparent');
    agent.say(smallResult(1));
    expect((await answered).status).toBe(200);
  },
);

test('a large result gives its memory back once it has been taken', async () => {
  const agent = join();
  const answered = call('get');
  await asked(agent);
  const rows = Buffer.alloc(300_000, '1');
  agent.say(resultHead(1, rows.length));
  expect(budget.reservedBytes).toBe(rows.length);
  for (let at = 0; at < rows.length; at += 60_000) {
    const bytes = rows.subarray(at, at + 60_000);
    agent.say({ type: 'data', id: 1, bytes, fin: at + bytes.length === rows.length });
  }
  const { text } = await answered;
  expect(text).toBe(`{"rows":${rows.toString()},"count":1,"truncated":true}`);
  await expect.poll(() => budget.reservedBytes, { interval: 2 }).toBe(0);
});

test('what a lying agent says of a failed query reaches no caller', async () => {
  const agent = join();
  const answered = call('get');
  await asked(agent);
  const message = 'relation "salary" does not exist\nselect * from salary';
  agent.say({ type: 'error', id: 1, code: 'AGENT_QUERY_FAILED', message, notStarted: false });
  const { status, text } = await answered;
  expect(status).toBe(502);
  expect(text).toBe('{"error":{"code":"AGENT_QUERY_FAILED","message":"the query could not be completed"}}');
});

test('when the caller leaves, the agent is told, and what it still sends costs nothing', async () => {
  const agent = join();
  const client = await dial(server.port);
  client.send(
    'POST /api/v1/capabilities/get HTTP/1.1\r\nHost: h\r\nX-API-Key: all\r\n' +
      'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  );
  await asked(agent);
  agent.say(resultHead(1, 300_000));
  client.socket.destroy();
  await expect.poll(() => agent.received.at(-1), { interval: 2 }).toEqual({ type: 'cancel', id: 1 });
  expect(await server.recorded(1)).toMatchObject([{ http_status: 499, capability: 'get' }]);
  expect(budget.reservedBytes).toBe(0);
});

describe('the first check that fails answers', () => {
  test('the key comes before anything else', async () => {
    const answer = await call('get', { key: 'wrong', body: 'x', headers: { 'Content-Type': 'text/plain' } });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(error(answer)).toMatchObject({ code: 'GATEWAY_UNAUTHORIZED' });
  });

  test('the permission comes before the body, and tells nothing of which capabilities there are', async () => {
    join();
    const answers = await Promise.all(
      ['other', 'no%20name', 'GET'].map((name) =>
        call(name, { key: 'one', body: 'x', headers: { 'Content-Type': 'text/plain' } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(error(answers[0] ?? (await call('other')))).toMatchObject({
      code: 'GATEWAY_CAPABILITY_NOT_PERMITTED',
    });
  });

  test('the body comes before whether an agent is connected', async () => {
    expect((await call('get', { headers: { 'Content-Type': 'text/plain' } })).status).toBe(400);
    expect((await call('get', { body: '[' })).status).toBe(400);
    const answer = await call('get');
    expect(answer.status).toBe(503);
    expect(error(answer)).toEqual({ code: 'GATEWAY_AGENT_OFFLINE', message: 'agent is not connected' });
  });

  test('a key for everything learns that a capability does not exist; its name is logged only if it could be one', async () => {
    join();
    const [other, odd] = [await call('other'), await call('no%20name')];
    for (const answer of [other, odd]) {
      expect(answer.status).toBe(404);
      expect(error(answer)).toMatchObject({ code: 'GATEWAY_CAPABILITY_NOT_FOUND' });
    }
    expect((await server.recorded(2)).map(({ capability }) => capability)).toEqual(['other', '']);
  });
});

test.each<[string, string | Buffer]>([
  ['empty', ''],
  ['cut off', '{"secret":1'],
  ['two values', '{"secret":1}{}'],
  ['a list', '["secret"]'],
  ['a text', '"secret"'],
  ['null', 'null'],
  ['with a key twice', '{"secret":1,"secret":2}'],
  ['with a key twice, once escaped', '{"secret":1,"s\\u0065cret":2}'],
  ['with __proto__', '{"__proto__":"secret"}'],
  ['nested beyond reason', `${'{"secret":'.repeat(40)}1${'}'.repeat(40)}`],
  ['with a number beyond a double', '{"secret":1e999}'],
  ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['marked with a byte order mark', '\ufeff{}'],
  ['larger than it may be', JSON.stringify({ secret: 'x'.repeat(1000) })],
])('a body that is %s is refused without being quoted', async (_title, body) => {
  const agent = join();
  const answer = await call('get', { body });
  expect(answer.status).toBe(400);
  expect(error(answer)).toMatchObject({ code: 'GATEWAY_INVALID_REQUEST' });
  expect(answer.text).not.toContain('secret');
  expect(agent.received).toEqual([]);
});
