import { createHmac } from 'node:crypto';
import { createAbort } from '@svc/edge';
import { readRequestHeaders } from '../../http/request/headers.ts';
import type { OutgoingHttpHeaders } from 'node:http';
import { Agent } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentByHand, busy, smallResult, type AgentByHand } from '../../agents/agent-by-hand.testing.ts';
import { MCP_REVISIONS } from '../../config/mcp-revisions.ts';
import { createRegistry, type Registry } from '../../agents/registry.ts';
import { createResultBudget } from '../../agents/result-budget.ts';
import { createCallCapability } from '../../calls/call-capability.ts';
import { createPermitCall } from '../../calls/permit-call.ts';
import { createCatalog } from '../../catalog/catalog.ts';
import { offering } from '../../catalog/offer.testing.ts';
import { readCredential } from '../../auth/credential.ts';
import { CallError } from '../../core/call-error.ts';
import { keyPrincipal } from '../../core/principal.testing.ts';
import { ask, startServer, type Answer, type StartedServer } from '../../http/server-by-hand.testing.ts';
import type { Permissions } from '../../core/permission.ts';
import type { Principal } from '../../core/principal.ts';
import { createRevisions } from './protocol/revisions.ts';
import { createMcpHandler } from './endpoint.ts';
import { createServeMessage } from './serve-message.ts';
import { HttpTransport } from './transport.ts';
import { createSessions, type Sessions } from './sessions.ts';

const SECRET = Buffer.alloc(32, 7);
const PERMISSIONS: Readonly<Record<string, Permissions>> = { one: '*', two: '*', none: new Set<string>() };
const principals: ReadonlyMap<string, Principal> = new Map(
  Object.entries(PERMISSIONS).map(([id, permissions]) => [id, keyPrincipal(id, permissions)]),
);

let registry: Registry;
let sessions: Sessions;
let agent: AgentByHand;
let server: StartedServer;
beforeEach(async () => {
  registry = createRegistry(() => 0);
  sessions = createSessions(SECRET);
  agent = agentByHand(createResultBudget(10_000_000));
  const manifest = [{ name: 'get', exposed: true, timeout_ms: 60_000 }];
  agent.session.setDescription({ manifest });
  const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} };
  registry.add(agent.session);
  const catalog = createCatalog(() => {});
  catalog.add(offering({ openapi, manifest }));
  const revisions = createRevisions(MCP_REVISIONS);
  server = await startServer({
    mcp: createMcpHandler({
      revisions,
      transportOf: (headers, principal) =>
        new HttpTransport({ revisions, sessions, issuesSessions: true }, headers, principal),
      authenticate(exchange) {
        const principal = principals.get(readCredential(exchange.headers, false) ?? '');
        if (principal === undefined) throw new CallError('GATEWAY_UNAUTHORIZED');
        return principal;
      },
      refuseOrigin: () => undefined,
      bodyLimits: { maxBytes: 10_000, timeoutMs: 5000 },
      rateLimiter: undefined,
      principalRate: undefined,
      serveMessage: createServeMessage({
        revisions,
        catalog,
        permitCall: createPermitCall(createCallCapability(registry, catalog, () => performance.now())),
        takesTokens: false,
        outputSchemas: true,
        name: 'svc-gateway',
        version: '0',
      }),
    }),
  });
});
afterEach(async () => {
  agent.lose();
  await server.close();
});

interface From {
  readonly key?: string;
  /** As the header `Mcp-Session-Id`; several are several headers. */
  readonly session?: string | string[] | undefined;
  readonly headers?: OutgoingHttpHeaders;
  readonly connection?: Agent;
}

function post(body: unknown, { key = 'one', session, headers, connection }: From = {}): Promise<Answer> {
  return ask(server.port, '/mcp', {
    method: 'POST',
    headers: {
      'X-API-Key': key,
      'Content-Type': 'application/json',
      ...(session === undefined ? {} : { 'Mcp-Session-Id': session }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(connection === undefined ? {} : { agent: connection }),
  });
}

function initialize(protocolVersion = '2025-11-25', id: unknown = 0): object {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } };
  return { jsonrpc: '2.0', id, method: 'initialize', params };
}

async function openSession(key = 'one'): Promise<string> {
  const { headers } = await post(initialize(), { key });
  return String(headers['mcp-session-id']);
}

/** The JSON of a call, and of its cancellation; `id` is JSON. */
const callText = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"get"}}`;
const cancelText = (id: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"enough"}}`;

/** Calls, and resolves when it has reached the agent. */
async function begin(
  body: string,
  from: From,
  calls = 1,
): Promise<{ readonly answer: Promise<Answer>; readonly ids: readonly number[] }> {
  const before = asked().length;
  const answer = post(body, from);
  await expect.poll(() => asked().length, { interval: 2 }).toBe(before + calls);
  return { answer, ids: asked().slice(before) };
}

/** The calls that reached the agent. */
function asked(): readonly number[] {
  return agent.received.filter(({ type }) => type === 'request').map(idOf);
}

/** The calls whose end the agent was asked for by now. */
async function cancelled(): Promise<readonly number[]> {
  await agent.link.sendQueue.drained();
  return agent.received.filter(({ type }) => type === 'cancel').map(idOf);
}

function idOf(frame: object): number {
  return 'id' in frame ? Number(frame.id) : 0;
}

function answerAll(...ids: readonly number[]): void {
  agent.say(...ids.map((id) => smallResult(id)));
}

const EMPTY = { status: 202, text: '' };

describe('initialize issues a session', { tags: ['mcp:8'] }, () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', 'unknown'])(
    'for %s',
    async (version) => {
      const [first, second] = [await post(initialize(version)), await post(initialize(version))];
      for (const { status, headers } of [first, second]) {
        expect([status, headers['mcp-session-id']]).toEqual([200, expect.stringMatching(/^[\w-]{64}$/)]);
      }
      expect(first.headers['mcp-session-id']).not.toBe(second.headers['mcp-session-id']);
    },
  );

  test('that is 16 bytes and their HMAC with service and key', async () => {
    const bytes = Buffer.from(await openSession('two'), 'base64url');
    const nonce = bytes.subarray(0, 16);
    const signature = createHmac('sha256', SECRET).update(nonce).update('default\0key:two').digest();
    expect(bytes.subarray(16)).toEqual(signature);
  });

  test('as an event, too', async () => {
    const { headers } = await post(initialize(), { headers: { Accept: 'text/event-stream' } });
    expect(headers['content-type']).toBe('text/event-stream');
    expect(headers['mcp-session-id']).toMatch(/^[\w-]{64}$/);
  });

  test('and nothing else does', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const stateless = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'server/discover' };
    const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } };
    const session = await openSession();
    for (const { headers } of [
      await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { session }),
      await post(initialize('2025-11-25', null)),
      await post([initialize('2025-03-26')]),
      await post(initialize(), { headers: stateless }),
      await post(discover, { headers: stateless }),
    ])
      expect(headers['mcp-session-id']).toBeUndefined();
  });
});

describe('notifications/cancelled', { tags: ['mcp:22'] }, () => {
  test('ends the call, which is answered 202 without a body and recorded as given up', async () => {
    const session = await openSession();
    const call = await begin(callText('7'), { session });
    expect(await post(cancelText('7'), { session })).toMatchObject(EMPTY);
    expect(await cancelled()).toEqual(call.ids);
    expect(await call.answer).toMatchObject(EMPTY);
    const [, cancelling, ended] = (await server.recorded(3)).toSorted(
      (a, b) => a.http_status - b.http_status,
    );
    expect(cancelling).toMatchObject({ http_status: 202, mcp_method: 'notifications/cancelled' });
    expect(ended).toMatchObject({ http_status: 499, capability: 'get', error_code: '' });
    // What comes too late changes nothing, and the id can be used again.
    const again = await begin(callText('7'), { session });
    answerAll(...call.ids, ...again.ids);
    expect((await again.answer).status).toBe(200);
    expect(await post(cancelText('7'), { session })).toMatchObject(EMPTY);
    expect(await cancelled()).toEqual(call.ids);
  });

  test.each([
    ['7', '7', true],
    ['7', '7.0', true],
    ['7', '"7"', false],
    ['"7"', '7', false],
    ['"7"', '"7"', true],
    ['"\\u0037"', '"7"', true],
    ['7', '-7', false],
    ['9007199254740993', '9007199254740993', true],
    ['9007199254740993', '9007199254740992', false],
    ['100000000000000000000', '1e20', true],
    ['7', 'null', false],
    ['7', '[7]', false],
    ['7', '7.5', false],
  ])('of a call %s, naming %s: %s', async (id, named, hits) => {
    const session = await openSession();
    const call = await begin(callText(id), { session });
    expect(await post(cancelText(named), { session })).toMatchObject(EMPTY);
    expect(await cancelled()).toEqual(hits ? call.ids : []);
    answerAll(...call.ids);
    expect((await call.answer).status).toBe(hits ? 202 : 200);
  });

  test('without parameters, or as a request, does nothing', async () => {
    const session = await openSession();
    const call = await begin(callText('7'), { session });
    for (const params of ['', ',"params":null', ',"params":{}', ',"params":[7]']) {
      const body = `{"jsonrpc":"2.0","method":"notifications/cancelled"${params}}`;
      expect(await post(body, { session })).toMatchObject(EMPTY);
    }
    const asRequest = cancelText('7').replace('{', '{"id":8,');
    expect(JSON.parse((await post(asRequest, { session })).text)).toMatchObject({ error: { code: -32_601 } });
    expect(await cancelled()).toEqual([]);
    answerAll(...call.ids);
    expect((await call.answer).status).toBe(200);
  });

  test('of nobody but the same key and session', async () => {
    const session = await openSession();
    const ofOtherKey = await openSession('two');
    const forged = `${session.slice(0, -1)}${session.endsWith('A') ? 'B' : 'A'}`;
    const call = await begin(callText('7'), { session });
    const others: readonly From[] = [
      {},
      { session: await openSession() },
      { session: ofOtherKey },
      { session: forged },
      { session: '' },
      { session: `${session}A` },
      { session: session.slice(0, -1) },
      { session: [session, session] },
      { session: [session, ofOtherKey] },
      { key: 'two', session },
      { key: 'two', session: ofOtherKey },
    ];
    for (const from of others) expect(await post(cancelText('7'), from)).toMatchObject(EMPTY);
    expect(await cancelled()).toEqual([]);
    await post(cancelText('7'), { session });
    expect(await cancelled()).toEqual(call.ids);
    expect(await call.answer).toMatchObject(EMPTY);
  });

  test('of no call that was sent without a session of the key', async () => {
    const session = await openSession();
    const invented = Buffer.alloc(48, 1).toString('base64url');
    const ofOtherKey = await openSession('two');
    for (const named of [undefined, invented, ofOtherKey, 'x', [session, session]]) {
      const call = await begin(callText('7'), { session: named });
      for (const from of [{ session: named }, { session }, { key: 'two', session: ofOtherKey }])
        expect(await post(cancelText('7'), from)).toMatchObject(EMPTY);
      answerAll(...call.ids);
      expect((await call.answer).status).toBe(200);
    }
    expect(await cancelled()).toEqual([]);
  });

  test('of an id that is in flight twice hits neither', async () => {
    const session = await openSession();
    const first = await begin(callText('7'), { session });
    const second = await begin(callText('7'), { session });
    const other = await begin(callText('8'), { session });
    await post(cancelText('7'), { session });
    expect(await cancelled()).toEqual([]);
    answerAll(...first.ids);
    expect((await first.answer).status).toBe(200);
    await post(cancelText('7'), { session });
    expect(await cancelled()).toEqual(second.ids);
    expect(await second.answer).toMatchObject(EMPTY);
    answerAll(...other.ids);
    expect((await other.answer).status).toBe(200);
  });

  test('of a call in a batch leaves the others', async () => {
    const session = await openSession();
    const batch = await begin(`[${callText('1')},${callText('2')},${callText('"1"')}]`, { session }, 3);
    const [first = 0, second = 0, third = 0] = batch.ids;
    await post(`[${cancelText('2')},${cancelText('9')}]`, { session });
    expect(await cancelled()).toEqual([second]);
    answerAll(first, third);
    const { status, text } = await batch.answer;
    const answers: readonly { readonly id: unknown }[] = JSON.parse(text);
    expect([status, answers.map(({ id }) => id)]).toEqual([200, [1, '1']]);
    const records = (await server.recorded(6)).filter(({ capability }) => capability === 'get');
    expect(records.map(({ http_status }) => http_status)).toEqual([200, 499, 200]);
    // Nothing is left to answer.
    const all = await begin(`[${callText('1')},${callText('2')}]`, { session }, 2);
    await post(`[${cancelText('1')},${cancelText('2')}]`, { session });
    expect(await all.answer).toMatchObject(EMPTY);
    // It may come with what it cancels.
    const together = await post(`[${callText('5')},${cancelText('5')}]`, { session });
    expect(together).toMatchObject(EMPTY);
  });

  test('of a call of 2026-07-28 does nothing', async () => {
    const session = await openSession();
    const meta =
      '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'get' };
    const body = callText('7').replace('"name"', `${meta},"name"`);
    const call = await begin(body, { session, headers });
    await post(cancelText('7'), { session });
    expect(await cancelled()).toEqual([]);
    answerAll(...call.ids);
    expect((await call.answer).status).toBe(200);
  });
});

test('a client that has left before its call begins is seen to have left', () => {
  const gone = createAbort();
  gone.abort();
  const headers = readRequestHeaders(['Mcp-Session-Id', Buffer.alloc(48).toString('base64url')]);
  const principal = principals.get('one');
  const call = principal && sessions.begin({ principal, headers }, '1', gone.signal);
  expect(call?.signal.aborted).toBe(true);
  call?.end();
});

test('nothing is left of calls that are over, however they ended', { tags: ['mcp:22'] }, async () => {
  const session = await openSession();
  const from = { session };
  const done = await begin(callText('1'), from);
  const failed = await begin(callText('2'), from);
  const given = await begin(callText('3'), from);
  const connection = new Agent();
  const left = await begin(callText('4'), { session, connection });
  left.answer.catch(() => {});
  const lost = await begin(callText('5'), from);
  expect(sessions.cancellable).toBe(5);
  answerAll(...done.ids);
  agent.say(...failed.ids.map((id) => busy(id, false)));
  await post(cancelText('3'), from);
  connection.destroy();
  const unknown = await post(callText('6').replace('"get"', '"other"'), from);
  const forbidden = await post(callText('7'), { ...from, key: 'none' });
  const malformed = await post(callText('8').replace('"name"', '"arguments":1,"name"'), from);
  for (const { text } of [unknown, forbidden, malformed]) expect(JSON.parse(text)).toHaveProperty('error');
  for (const { answer } of [done, failed, given]) await answer;
  await expect.poll(() => sessions.cancellable, { interval: 2 }).toBe(1);
  agent.lose();
  await lost.answer;
  expect(sessions.cancellable).toBe(0);
});
