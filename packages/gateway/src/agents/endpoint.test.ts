import { dial, type RawConnection } from '@svc/testkit';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CLOSE,
  decodeMessage,
  DESCRIBE_CAPABILITY,
  INITIAL_CREDIT_BYTES,
  parseWelcome,
  type Frame,
} from '@svc/protocol';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ask, startServer, type StartedServer } from '../http/server-by-hand.testing.ts';
import { createSourceResolver, type ResolveSource } from '../network/client-address.ts';
import { cidr } from '../network/cidr.testing.ts';
import { createAgentLinks } from './agent-links.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createDescriptionBudget } from './description-budget.ts';
import { createAgentEndpoint, createAgentUpgradeHandler, type AgentEndpoint } from './endpoint.ts';
import type { HandshakeRules } from './handshake.ts';
import { createCatalog, type Catalog } from '../catalog/catalog.ts';
import { createRegistry, NOBODY, type Registry } from './registry.ts';
import { createResultBudget, type ResultBudget } from './result-budget.ts';
import { createSessionDirectory, type SessionDirectory } from './session-directory.ts';
import type { AgentOutcome } from './callable-link.ts';
import { request, resultHead } from './agent-by-hand.testing.ts';
import {
  answer,
  authBytes,
  becomeAgent,
  createAgentKey,
  describing,
  dialAgentEndpoint,
  helloBytes,
  introduce,
  knownKeys,
  sayFrames,
  sayText,
  type PeerByHand,
  upgradeByHand,
} from './unauthenticated-peer.testing.ts';

const key = createAgentKey();
const otherKey = createAgentKey();
const AUDIENCE = 'wss://gateway.example/ws/agent';

let server: StartedServer;
let endpoint: AgentEndpoint;
let registry: Registry;
let catalog: Catalog;
let events: GatewayEvent[];
let budget: ResultBudget;
let directory: SessionDirectory;
let resolveSource: ResolveSource;
let source: string;
beforeEach(async () => {
  source = '192.0.2.1';
  resolveSource = () => ({ address: source, bucket: source, allowed: true });
  await start({
    agentKey: knownKeys(key, otherKey),
    audiences: [AUDIENCE],
    replicaId: 'replica',
    worker: 0,
    replicaCount: () => 1,
    linksPerReplica: 1,
    maxParamsBytes: 1000,
  });
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await endpoint.close();
  await server.close();
});

async function start(rules: HandshakeRules): Promise<void> {
  events = [];

  budget = createResultBudget(4_000_000);
  registry = createRegistry(() => 0);
  catalog = createCatalog((event) => events.push(event));
  directory = createSessionDirectory(registry, catalog);
  endpoint = createAgentEndpoint({
    rules,
    descriptions: createDescriptionBudget(() => []),
    severalServices: false,
    directoryOf: () => directory,
    budget,
    links: createAgentLinks({
      replicaCount: () => 1,
      linksPerReplica: 1,
      maxLinks: undefined,
      observe: (event) => events.push(event),
      now: () => performance.now(),
    }),
    observe: (event) => events.push(event),
  });
  server = await startServer(
    { agent: createAgentUpgradeHandler(endpoint) },
    { resolveSource: (...peer) => resolveSource(...peer) },
  );
}

/** Connected, described and listed. */
async function join(names: string[] = ['get']): ReturnType<typeof becomeAgent> {
  const description = describing(...names);
  const joined = await becomeAgent(server.port, key, { description });
  sayFrames(joined.agent, answer(1, description));
  await reported('agent_connected');
  return joined;
}

async function reported(event: GatewayEvent['event']): Promise<GatewayEvent> {
  await expect.poll(() => events.map((one) => one.event), { interval: 2 }).toContain(event);
  const found = events.find((one) => one.event === event);
  if (found === undefined) throw new Error('no such event');
  return found;
}

test('an agent is welcomed, asked for its description, listed, and called', async () => {
  const description = describing('get', 'list');
  const agent = await introduce(server.port, key, { description, maxInflight: 2 });
  expect(agent.socket.protocol).toBe('svc-agent.v1');
  expect(agent.socket.extensions).toBe('');
  expect(parseWelcome(await agent.next())).toEqual({ type: 'welcome', replica_count: 1 });
  const [asked] = decodeMessage(await agent.next());
  expect(asked).toMatchObject({
    type: 'request',
    id: 1,
    capability: DESCRIBE_CAPABILITY,
    params: Buffer.from('{}'),
  });
  expect(registry.connected).toBe(false);

  sayFrames(agent, answer(1, description));
  expect(await reported('agent_connected')).toEqual({
    event: 'agent_connected',
    conn_id: expect.any(String),
    instance_id: 'instance',
    key_id: key.keyId,
    source: '192.0.2.1',
    capabilities: 2,
  });
  expect(catalog.description).toEqual(JSON.parse(description.toString()));

  const session = registry.choose('list', NOBODY);
  if (typeof session === 'string') throw new Error(session);
  const outcome = new Promise<AgentOutcome>((resolve) => {
    session.call(request(undefined, 'list'), resolve);
  });
  const [called] = decodeMessage(await agent.next());
  expect(called).toMatchObject({ type: 'request', id: 2, capability: 'list' });
  sayFrames(agent, answer(2, Buffer.from('[1]'), 1));
  expect(await outcome).toMatchObject({ kind: 'result', count: 1 });
});

test.each([
  [{ versions: [1, 2] }, { protocolVersion: 2, identity: undefined }],
  [
    { versions: [2], identity: 'token' },
    { protocolVersion: 2, identity: 'token' },
  ],
  [
    { versions: [1], identity: 'gateway' },
    { protocolVersion: 1, identity: undefined },
  ],
] as const)('a session of %j is %j', async (options, expected) => {
  const terms = { identity: { max_age: 60 } };
  const description = Buffer.from(JSON.stringify({ ...JSON.parse(describing('get').toString()), ...terms }));
  const { agent } = await becomeAgent(server.port, key, { ...options, description });
  sayFrames(agent, answer(1, description));
  await reported('agent_connected');
  expect(registry.choose('get', NOBODY)).toMatchObject({ ...expected, maxTokenAge: 60 });
});

test('at version 1 a session sends and takes what version 1 has', async () => {
  const description = describing('get');
  const { agent } = await becomeAgent(server.port, key, { versions: [1], description });
  sayFrames(agent, answer(1, description));
  await reported('agent_connected');
  const session = registry.choose('get', NOBODY);
  if (typeof session === 'string') throw new Error(session);
  const long = { ...request(), metadata: { claims: 'c'.repeat(1025) } };
  expect(() => session.call(long, () => {})).toThrow(RangeError);
  sayFrames(agent, { type: 'error', id: 1, code: 'AGENT_PRINCIPAL_REFUSED', message: '', notStarted: true });
  expect(await agent.closed).toMatchObject({ code: CLOSE.protocol_error });
});

describe('a peer that is refused', () => {
  test('I31: an unknown key and a bad signature get the same answer: 4401, whatever the audience, and no reason', async () => {
    const unknownKey = createAgentKey();
    for (const audience of [AUDIENCE, 'wss://typo.example/ws/agent']) {
      const unknown = await introduce(server.port, unknownKey, { audience });
      const forged = await introduce(server.port, unknownKey, { audience, claim: key.keyId });
      expect(await unknown.closed).toEqual({ code: CLOSE.unauthorized, reason: '' });
      expect(await forged.closed).toEqual({ code: CLOSE.unauthorized, reason: '' });
    }
    expect(registry.connected).toBe(false);
    expect(new Set(events.map((event) => JSON.stringify(event)))).toEqual(
      new Set(['{"event":"agent_rejected","source":"192.0.2.1","reason":"unknown key or bad signature"}']),
    );
  });

  test(
    'I31: a good signature for another gateway is refused with 4403; only our log names our URLs',
    { tags: ['agent:audience'] },
    async () => {
      const agent = await introduce(server.port, key, { audience: 'wss://typo.example/ws/agent' });
      const { code, reason } = await agent.closed;
      expect(code).toBe(CLOSE.wrong_audience);
      expect(reason).not.toContain('gateway.example');
      expect(await reported('agent_rejected')).toMatchObject({ reason: expect.stringContaining(AUDIENCE) });
    },
  );

  test('an answer recorded on one connection is refused on another', async () => {
    const hello = helloBytes({ keyId: key.keyId, audience: AUDIENCE });
    const first = await dialAgentEndpoint(server.port);
    sayText(first, hello);
    const auth = authBytes(key, { hello, challenge: await first.next(), audience: AUDIENCE });
    sayText(first, auth);
    expect(parseWelcome(await first.next()).type).toBe('welcome');

    const second = await dialAgentEndpoint(server.port);
    sayText(second, hello);
    await second.next();
    sayText(second, auth);
    expect(await second.closed).toEqual({ code: CLOSE.unauthorized, reason: '' });
  });

  test('the challenge of one gateway, relayed, is not answered for another', async () => {
    const relayed = await introduce(server.port, key, { audience: 'wss://relay.example/ws/agent' });
    expect((await relayed.closed).code).toBe(CLOSE.wrong_audience);
  });

  test.each<[string, Buffer, boolean]>([
    ['no JSON', Buffer.from('hello'), false],
    ['more than 4 KiB', Buffer.alloc(4097, ' '), false],
    ['auth before hello', Buffer.from(`{"type":"auth","signature":"${'A'.repeat(86)}"}`), false],
    ['frames before the welcome', Buffer.from([7, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1]), true],
  ])('%s: 4400 without a reason', async (_title, message, binary) => {
    const peer = await dialAgentEndpoint(server.port);
    peer.socket.send(message, { binary });
    expect(await peer.closed).toEqual({ code: CLOSE.protocol_error, reason: '' });
    expect(await reported('agent_rejected')).toMatchObject({ source: '192.0.2.1' });
  });

  test('a message larger than any frame ends the connection', async () => {
    const peer = await dialAgentEndpoint(server.port);
    peer.socket.send(Buffer.alloc(70_000));
    expect((await peer.closed).code).toBe(1009);
  });

  test.each(['says nothing', 'stops after hello'])(
    'a peer that %s is disconnected after 5 s',
    async (what) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const peer = await dialAgentEndpoint(server.port);
      if (what === 'stops after hello') {
        sayText(peer, helloBytes({ keyId: key.keyId }));
        await peer.next();
      }
      vi.advanceTimersByTime(4999);
      expect(events).toEqual([]);
      vi.advanceTimersByTime(1);
      expect((await peer.closed).code).toBe(CLOSE.handshake_timeout);
      expect(events).toEqual([
        { event: 'agent_rejected', source: '192.0.2.1', reason: 'no handshake within 5 s' },
      ]);
    },
  );
});

describe('unauthenticated peers', () => {
  /** What an upgrade is answered with instead of a WebSocket. */
  async function refused(): Promise<{ response: IncomingMessage; text: string }> {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws/agent`, ['svc-agent.v1']);
    socket.on('error', () => {});
    const [, response]: [unknown, IncomingMessage] = await new Promise((resolve) => {
      socket.once('unexpected-response', (...both) => resolve(both));
    });
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await once(response, 'end');
    return { response, text };
  }

  const dialMany = (count: number): Promise<PeerByHand[]> =>
    Promise.all(Array.from({ length: count }, () => dialAgentEndpoint(server.port)));

  /** Whether one more from that source would be accepted; it does not stay. */
  function isAccepted(from: string): boolean {
    const decision = endpoint.accept(from);
    if (decision.ok) decision.peer.closed(false);
    return decision.ok;
  }

  test(
    '20 from one address, until one has authenticated or left',
    { tags: ['limit:agent-endpoint'] },
    async () => {
      const [leaving, proving] = await dialMany(20);
      if (leaving === undefined || proving === undefined) throw new Error('too few peers');
      const { response, text } = await refused();
      expect(response.statusCode).toBe(429);
      expect(response.headers['retry-after']).toBe('1');
      expect(JSON.parse(text).error.code).toBe('GATEWAY_RATE_LIMITED');
      source = '192.0.2.2';
      await expect(dialAgentEndpoint(server.port)).resolves.toBeDefined();

      source = '192.0.2.1';
      expect(isAccepted(source)).toBe(false);
      leaving.socket.terminate();
      await leaving.closed;
      await expect.poll(() => isAccepted(source), { interval: 2 }).toBe(true);
      await dialAgentEndpoint(server.port);
      expect(isAccepted(source)).toBe(false);
      const hello = helloBytes({ keyId: key.keyId });
      sayText(proving, hello);
      sayText(proving, authBytes(key, { hello, challenge: await proving.next() }));
      await proving.next();
      expect((await dialMany(81)).length, 'now that an agent is there').toBe(81);
      expect(isAccepted(source)).toBe(false);
    },
  );

  test('addresses of one network are one source, and those behind a trusted proxy are told apart', async () => {
    resolveSource = createSourceResolver({ allowList: undefined, trustedProxies: [cidr('127.0.0.0/8')] });
    const clients: RawConnection[] = [];
    const dialFrom = async (address: string): Promise<string> => {
      const { client, status } = await upgradeByHand(server.port, `X-Forwarded-For: ${address}`);
      clients.push(client);
      return status;
    };
    for (let host = 1; host <= 20; host++) expect(await dialFrom(`2001:db8::${host}`)).toBe('101');
    expect(await dialFrom('2001:db8::21')).toBe('429');
    expect(await dialFrom('2001:db8:0:1::1')).toBe('101');
    for (const { socket } of clients) socket.destroy();
  });

  test('one that was rejected counts until its socket is closed', async () => {
    const { socket } = await dialAgentEndpoint(server.port);
    await dialMany(19);
    socket.pause();
    socket.send('nonsense');
    await reported('agent_rejected');
    expect(isAccepted(source)).toBe(false);
    await expect.poll(() => isAccepted(source), { interval: 20 }).toBe(true);
    socket.terminate();
  });

  test('an agent may look for another replica often: what it leaves at the challenge costs a tenth', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    await join();
    for (let times = 0; times < 30; times++) {
      const agent = await dialAgentEndpoint(server.port);
      sayText(agent, helloBytes({ keyId: key.keyId }));
      await agent.next();
      agent.socket.close();
      await agent.closed;
    }
    expect(Array.from({ length: 170 }, () => isAccepted(source))).not.toContain(false);
  });

  test('a source whose agent loses its connection after a day may dial as one that has just authenticated', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const { agent } = await join();
    clock.mockReturnValue(performance.now() + 24 * 60 * 60_000);
    agent.socket.terminate();
    await reported('agent_disconnected');
    const redials = Array.from({ length: 21 }, () => endpoint.accept(source).ok);
    expect(redials).not.toContain(false);
  });

  test('an upgrade that is no WebSocket after all does not count', async () => {
    for (let count = 0; count < 25; count++) {
      const client = await dial(server.port);
      client.send(
        'GET /ws/agent HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: nonsense\r\n\r\n',
      );
      expect(await client.ended).toMatch(/^HTTP\/1\.1 400 /);
      client.socket.destroy();
    }
    await expect.poll(() => isAccepted(source), { interval: 2 }).toBe(true);
    expect(server.gateway.inFlight).toBe(0);
  });
});

test.each<[string, Record<string, string>]>([
  ['a plain GET', {}],
  ['an upgrade to something else', { Connection: 'Upgrade', Upgrade: 'h2c' }],
])('%s is told to upgrade', async (_title, headers) => {
  const { status, headers: answered, text } = await ask(server.port, '/ws/agent', { headers });
  expect(status).toBe(426);
  expect(answered.upgrade).toBe('websocket');
  expect(JSON.parse(text).error.code).toBe('GATEWAY_UPGRADE_REQUIRED');
});

describe('I32: an agent takes no call before its description', () => {
  test('I32: which must be the one that it signed', async () => {
    const { agent } = await becomeAgent(server.port, key, { description: describing('get') });
    sayFrames(agent, answer(1, describing('get', 'drop_all')));
    expect((await agent.closed).code).toBe(CLOSE.bad_description);
    expect(registry.connected).toBe(false);
    expect(catalog.description).toBeUndefined();
    expect(await reported('agent_rejected')).toMatchObject({ source: '192.0.2.1' });
    expect(events).toHaveLength(1);
  });

  test('a description of more than 8 MiB is refused before it has come', async () => {
    const { agent } = await becomeAgent(server.port, key, { description: describing('get') });
    sayFrames(agent, resultHead(1, 8 * 1024 * 1024 + 1, Buffer.alloc(1000, 0x20)));
    expect((await agent.closed).code).toBe(CLOSE.bad_description);
    const reason = expect.stringContaining('longer than 8 MiB');
    expect(await reported('agent_rejected')).toMatchObject({ source: '192.0.2.1', reason });
  });

  test.each<[string, Buffer]>([
    ['no description', Buffer.from('{}')],
    ['no JSON', Buffer.from('SELECT 1')],
  ])('I32: and no promise of %s', async (_title, description) => {
    const { agent } = await becomeAgent(server.port, key, { description });
    sayFrames(agent, answer(1, description));
    expect((await agent.closed).code).toBe(CLOSE.bad_description);
    expect(registry.connected).toBe(false);
  });

  test('I32: and a large one that is no good gives its memory back', async () => {
    const description = Buffer.alloc(100_000, 'x');
    const { agent } = await becomeAgent(server.port, key, { description });
    sayFrames(agent, resultHead(1, description.length, description.subarray(0, 50_000)), {
      type: 'data',
      id: 1,
      bytes: description.subarray(50_000, 65_000),
      fin: false,
    });
    await expect.poll(() => budget.reservedBytes, { interval: 2 }).toBe(100_000);
    sayFrames(agent, { type: 'data', id: 1, bytes: description.subarray(65_000), fin: true });
    expect((await agent.closed).code).toBe(CLOSE.bad_description);
    expect(budget.reservedBytes).toBe(0);
  });

  test.each([100, 2_000_000])(
    'and a failure of the gateway with one of %i bytes costs only its link',
    async (padding) => {
      directory = {
        enter() {
          throw new Error('a fault of the gateway');
        },
      };
      const description = Buffer.concat([describing('get'), Buffer.alloc(padding, ' ')]);
      const { agent } = await becomeAgent(server.port, key, { description });
      const first = description.subarray(0, 50_000);
      const head = { ...resultHead(1, description.length, first), fin: first.length === description.length };
      sayFrames(agent, head);
      let credit = INITIAL_CREDIT_BYTES;
      for (let at = first.length; at < description.length;) {
        if (credit <= at) {
          for (const frame of decodeMessage(await agent.next()))
            if (frame.type === 'credit') credit += frame.bytes;
          continue;
        }
        const bytes = description.subarray(at, Math.min(at + 50_000, credit));
        at += bytes.length;
        sayFrames(agent, { type: 'data', id: 1, bytes, fin: at === description.length });
      }
      expect(await agent.closed).toMatchObject({
        code: CLOSE.bad_description,
        reason: 'the gateway could not read the description',
      });
      expect(await reported('internal_error')).toMatchObject({
        message: expect.stringContaining('a fault of the gateway'),
      });
      expect(budget.reservedBytes).toBe(0);
    },
  );

  test('I32: which it must not refuse', async () => {
    const { agent } = await becomeAgent(server.port, key);
    sayFrames(agent, { type: 'error', id: 1, code: 'AGENT_BUSY', message: '', notStarted: true });
    expect((await agent.closed).code).toBe(CLOSE.bad_description);
    expect(await reported('agent_rejected')).toMatchObject({ reason: expect.stringContaining('AGENT_BUSY') });
  });

  test('I32: and which must come within 10 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { agent } = await becomeAgent(server.port, key);
    vi.advanceTimersByTime(9999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect((await agent.closed).code).toBe(CLOSE.bad_description);
    expect(registry.connected).toBe(false);
  });

  test('I32: an agent that leaves before is reported as one that never was', async () => {
    const { agent } = await becomeAgent(server.port, key);
    agent.socket.terminate();
    expect(await reported('agent_rejected')).toMatchObject({ reason: 'connection lost (1006)' });
  });
});

describe('a listed agent', () => {
  test('that is lost ends its calls, and is reported', async () => {
    const { agent } = await join();
    const session = registry.choose('get', NOBODY);
    if (typeof session === 'string') throw new Error(session);
    const outcome = new Promise<AgentOutcome>((resolve) => {
      session.call(request(), resolve);
    });
    await agent.next();
    agent.socket.terminate();
    expect(await outcome).toEqual({ kind: 'lost', answerBegun: false });
    expect(registry.connected).toBe(false);
    expect(catalog.description).toBeDefined();
    expect(await reported('agent_disconnected')).toMatchObject({
      conn_id: session.connId,
      instance_id: 'instance',
      reason: 'connection lost (1006)',
    });
  });

  test('that breaks the protocol is disconnected with the reason', async () => {
    const { agent } = await join();
    agent.socket.send('text');
    const { code, reason } = await agent.closed;
    expect(code).toBe(CLOSE.protocol_error);
    expect(reason).toBe('text message after the handshake');
    expect(await reported('agent_disconnected')).toMatchObject({
      reason: 'text message after the handshake',
    });
  });

  test('I50: has its ping behind its description answered when calls can reach it', async () => {
    const description = describing('get');
    const { agent } = await becomeAgent(server.port, key, { description });
    sayFrames(agent, answer(1, description), { type: 'ping', token: 7 });
    const [pong] = decodeMessage(await agent.next());
    expect([pong, typeof registry.choose('get', NOBODY)]).toEqual([{ type: 'pong', token: 7 }, 'object']);
  });

  test('I50: has it answered no sooner where its description is long and read for a while', async () => {
    const short = JSON.parse(describing('get').toString());
    const description = Buffer.from(JSON.stringify({ ...short, padding: Array(600_000).fill(7) }));
    const { agent } = await becomeAgent(server.port, key, { description });
    let at = 60_000;
    let credit = INITIAL_CREDIT_BYTES;
    sayFrames(agent, resultHead(1, description.length, description.subarray(0, at)));
    while (at < description.length) {
      const bytes = description.subarray(at, Math.min(at + 60_000, credit));
      at += bytes.length;
      const fin = at === description.length;
      sayFrames(
        agent,
        { type: 'data', id: 1, bytes, fin },
        ...(fin ? [{ type: 'ping', token: 7 } as const] : []),
      );
      while (!fin && at === credit) {
        for (const frame of decodeMessage(await agent.next()))
          if (frame.type === 'credit') credit += frame.bytes;
      }
    }
    let answered: Frame[] = [];
    while (!answered.some(({ type }) => type === 'pong')) answered = decodeMessage(await agent.next());
    expect(typeof registry.choose('get', NOBODY)).toBe('object');
  });

  test('I50: has it answered no sooner where other processes have to learn of it first', async () => {
    const entered = directory;
    let list = (): void => {};
    directory = {
      enter(session, offer, onListed) {
        list = onListed;
        return entered.enter(session, offer, () => {});
      },
    };
    const description = describing('get');
    const { agent } = await becomeAgent(server.port, key, { description });
    sayFrames(agent, { type: 'ping', token: 6 }, answer(1, description), { type: 'ping', token: 7 });
    expect(decodeMessage(await agent.next())).toEqual([{ type: 'pong', token: 6 }]);
    list();
    expect(decodeMessage(await agent.next())).toEqual([{ type: 'pong', token: 7 }]);
    sayFrames(agent, { type: 'ping', token: 8 });
    expect(decodeMessage(await agent.next())).toEqual([{ type: 'pong', token: 8 }]);
  });

  test('that says go-away gets no further call', async () => {
    const { agent } = await join();
    sayFrames(agent, { type: 'go_away', reason: 'leaving' });
    await expect.poll(() => registry.choose('get', NOBODY), { interval: 2 }).toBe('offline');
    expect(agent.socket.readyState).toBe(WebSocket.OPEN);
  });

  test(
    'is superseded by the next of the same process: calls go there, and those under way are answered',
    { tags: ['agent:superseded'] },
    async () => {
      const { agent: older } = await join();
      const session = registry.choose('get', NOBODY);
      if (typeof session === 'string') throw new Error(session);
      const outcome = new Promise<AgentOutcome>((resolve) => {
        session.call(request(), resolve);
      });
      await older.next();
      const { agent: newer } = await becomeAgent(server.port, key, { description: describing('get') });
      sayFrames(newer, answer(1, describing('get')));
      expect(decodeMessage(await older.next())).toMatchObject([{ type: 'go_away' }]);
      expect(registry.choose('get', NOBODY)).not.toBe(session);
      expect(registry.connections).toBe(1);
      sayFrames(older, answer(2, Buffer.from('[]')));
      expect(await outcome).toMatchObject({ kind: 'result' });
      older.socket.close();
      await reported('agent_disconnected');
      expect(registry.connections).toBe(1);
    },
  );

  test.each([
    ['another process', { instanceId: 'other' }, key],
    ['another key that names the same process', {}, otherKey],
  ])('stays beside that of %s', async (_whose, options, theirs) => {
    const { agent } = await join();
    const { agent: other } = await becomeAgent(server.port, theirs, {
      description: describing('get'),
      ...options,
    });
    sayFrames(other, answer(1, describing('get')));
    await expect.poll(() => registry.connections, { interval: 2 }).toBe(2);
    agent.socket.close();
    await expect.poll(() => registry.connections, { interval: 2 }).toBe(1);
  });

  test('is told when the gateway leaves, and closed with 1001', async () => {
    const { agent } = await join();
    endpoint.goAway();
    expect(decodeMessage(await agent.next())).toMatchObject([{ type: 'go_away' }]);
    await endpoint.close();
    expect((await agent.closed).code).toBe(CLOSE.going_away);
    await reported('agent_disconnected');
    expect(registry.connected).toBe(false);
  });

  test('has a second to read all that was sent to it, and that it is closed with 1001', async () => {
    const description = describing('get');
    const { agent } = await becomeAgent(server.port, key, { description, maxInflight: 200 });
    sayFrames(agent, answer(1, description));
    await reported('agent_connected');
    const session = registry.choose('get', NOBODY);
    if (typeof session === 'string') throw new Error(session);
    agent.socket.pause();
    // More than the operating system takes for a reader that stands still.
    for (let count = 0; count < 199; count++) {
      session.call({ ...request(), params: Buffer.alloc(INITIAL_CREDIT_BYTES) }, () => {});
    }
    // Nobody tells when the operating system takes no more.
    await pause(500);
    const closed = endpoint.close();
    await pause(200);
    agent.socket.resume();
    expect((await agent.closed).code).toBe(CLOSE.going_away);
    await closed;
  });

  test('that reads nothing is waited for a second, and an unauthenticated one is told too', async () => {
    const { agent } = await join();
    const unproved = await dialAgentEndpoint(server.port);
    agent.socket.pause();
    const since = performance.now();
    let isOver = false;
    const closed = endpoint.close().then(() => (isOver = true));
    expect((await unproved.closed).code).toBe(CLOSE.going_away);
    expect(isOver).toBe(false);
    await closed;
    expect(performance.now() - since).toBeGreaterThan(900);
    expect(performance.now() - since).toBeLessThan(5000);
    agent.socket.terminate();
  });
});
