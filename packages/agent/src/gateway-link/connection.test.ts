import dns, { type LookupAddress } from 'node:dns';
import { CLOSE, type DatabaseState } from '@svc/protocol';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openConnection, type Connection, type ConnectionOptions } from './connection.ts';
import {
  request,
  startGateway,
  type SmallGateway,
  type SmallGatewayOptions,
} from './gateway-by-hand.testing.ts';
import type { CallOutcome, IncomingCall } from '../calls/handle-call.ts';

let gateway: SmallGateway;
let connections: Connection[];
beforeEach(() => {
  connections = [];
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await gateway.close();
  await Promise.all(connections.map(({ over }) => over));
});

const OK: CallOutcome = {
  kind: 'result',
  rows: Buffer.from('[]'),
  count: 0,
  truncated: false,
  release: () => {},
};

async function open(
  options: SmallGatewayOptions = {},
  overrides: Partial<ConnectionOptions> = {},
): Promise<{ connection: Connection; welcomes: string[] }> {
  return openTo(await startedGateway(options), overrides);
}

async function startedGateway(options: SmallGatewayOptions): Promise<SmallGateway> {
  gateway = await startGateway(options);
  return gateway;
}

function openTo(
  { url, identity }: SmallGateway,
  overrides: Partial<ConnectionOptions>,
): { connection: Connection; welcomes: string[] } {
  const welcomes: string[] = [];
  const connection = openConnection({
    url,
    ca: undefined,
    identity,
    handle: async () => OK,
    databases: () => [],
    loads: new Set(),
    onChallenge: () => true,
    onWelcome: ({ connId }) => welcomes.push(connId),
    onFleet: () => {},
    onGoAway: () => {},
    ...overrides,
  });
  connections.push(connection);
  return { connection, welcomes };
}

test('the agent proves itself, is welcomed, and answers calls', async () => {
  const { welcomes, connection } = await open();
  const side = await gateway.next();
  expect(side.hello).toMatchObject({ audience: gateway.url, max_inflight: 64, versions: [1, 2] });
  side.say(request(1));
  expect(await side.frame('result')).toMatchObject({ id: 1, count: 0, fin: true });
  expect(welcomes).toEqual(['connection-1']);
  side.socket.close(CLOSE.going_away);
  expect(await connection.over).toMatchObject({
    reason: 'going_away (1001)',
    connId: 'connection-1',
    refused: false,
  });
});

test('an older gateway is answered in its version', async () => {
  await open({ version: 1 });
  const side = await gateway.next();
  side.say(request(1));
  expect(await side.frame('result')).toMatchObject({ id: 1, fin: true });
});

describe('I42: an agent that asks who calls', () => {
  const asking = async (options: SmallGatewayOptions): Promise<string> => {
    const { identity } = await startedGateway(options);
    const { connection, welcomes } = openTo(gateway, { identity: { ...identity, trust: 'gateway' } });
    const { reason } = await connection.over;
    expect(welcomes).toEqual([]);
    return reason;
  };

  test('tells why an older gateway does not take it', async () => {
    const older = (socket: { close(code: number): void }): void => socket.close(CLOSE.no_common_version);
    expect(await asking({ instead: { hello: older } })).toMatch(
      /no_common_version.*`identity`.*update the gateway/,
    );
  });

  test('does not answer a gateway that chose version 1 all the same', async () => {
    expect(await asking({ version: 1 })).toMatch(/chose a version not offered/);
  });
});

test('no compression is offered', async () => {
  await open();
  const side = await gateway.next();
  expect(side.socket.extensions).toBe('');
  expect(side.socket.protocol).toBe('svc-agent.v1');
});

test('when the connection breaks, what runs is aborted at once', async () => {
  const calls: IncomingCall[] = [];
  const { connection } = await open(
    {},
    {
      handle(call) {
        calls.push(call);
        return new Promise(() => {});
      },
    },
  );
  const side = await gateway.next();
  side.say(request(1), request(2));
  await expect.poll(() => calls.length, { interval: 5 }).toBe(2);
  side.socket.terminate();
  const end = await connection.over;
  expect(end).toMatchObject({ reason: 'connection lost (1006)', refused: false });
  expect(end.heldMs).toBeGreaterThan(0);
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});

describe('a refusal that lasts until the configuration is changed', () => {
  test.each([
    [CLOSE.unauthorized, 'GATEWAY_AGENT_PUBLIC_KEY'],
    [CLOSE.wrong_audience, 'gateway.url'],
  ])('%i says what to change', async (code, setting) => {
    const { connection, welcomes } = await open({ instead: { auth: (socket) => socket.close(code) } });
    const end = await connection.over;
    expect(end).toMatchObject({ heldMs: 0, refused: true });
    expect(end.reason).toContain(setting);
    expect(welcomes).toEqual([]);
  });
});

test.each([
  ['inventory', 'agent_public_keys of that service in GATEWAY_SERVICES_FILE'],
  ['default', 'into GATEWAY_AGENT_PUBLIC_KEY and restart the gateway'],
])('an agent of the service %s that is turned away says where its key goes', async (service, place) => {
  const turnedAway = await startedGateway({
    instead: { auth: (socket) => socket.close(CLOSE.unauthorized) },
  });
  const { connection } = openTo(turnedAway, { identity: { ...turnedAway.identity, service } });
  expect((await connection.over).reason).toContain(place);
});

test.each([
  ['the description is longer than 8 MiB', /4422.*: shorten descriptions.*`svc-agent check`/],
  ['the descriptions of the agents with this key take more than 64 MiB', /4422.*: .*a key of its own/],
  ['the descriptions of all agents take more than 256 MiB', /4422.*: stop agents of this gateway/],
  ['the description is malformed: /openapi must be object', /4422.*: .*update the older one/],
])(
  'a gateway that does not take the description says why, and the agent what to do: %s',
  async (why, advice) => {
    const { connection } = await open({
      instead: { auth: (socket) => socket.close(CLOSE.bad_description, why) },
    });
    const { reason, refused } = await connection.over;
    expect(reason).toMatch(advice);
    expect(reason).toContain(why);
    expect(refused).toBe(false);
  },
);

test.each([CLOSE.no_common_version, CLOSE.handshake_timeout])(
  'a gateway that closes with %i is named as the reason and dialled again soon',
  async (code) => {
    const { connection } = await open({ instead: { hello: (socket) => socket.close(code, 'why') } });
    expect(await connection.over).toMatchObject({ reason: `why (${code})`, heldMs: 0, refused: false });
  },
);

describe('an address that answers by plain HTTP', () => {
  test.each([200, 400, 404, 426])(
    'with %i is suspected to lead elsewhere or through a proxy',
    async (status) => {
      const { connection } = await open({
        http: (_request, response) => response.writeHead(status).end('x'),
      });
      const { reason, refused } = await connection.over;
      expect(reason).toContain(`HTTP ${status}`);
      expect(reason).toContain('Upgrade');
      expect(reason).toContain('gateway.url');
      expect(refused).toBe(false);
    },
  );

  test.each([301, 429, 503])('with %i is reported as it is, and not followed', async (status) => {
    let requests = 0;
    const { connection } = await open({
      http: (_request, response) => {
        requests++;
        response.writeHead(status, { Location: '/elsewhere' }).end();
      },
    });
    const { reason } = await connection.over;
    expect(reason).toContain(`HTTP ${status}`);
    expect(reason).not.toContain('Upgrade');
    expect(requests).toBe(1);
  });
});

test('an address where nobody listens', async () => {
  gateway = await startGateway();
  const { url, identity } = gateway;
  await gateway.close();
  const { connection } = await openAt(url, identity);
  expect((await connection.over).reason).toMatch(/ECONNREFUSED.*\(is the gateway running.*gateway\.url/);
});

test('a name with several addresses where nobody listens', async () => {
  gateway = await startGateway();
  const { port, identity } = gateway;
  await gateway.close();
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.2', family: 4 },
  ];
  vi.spyOn(dns, 'lookup').mockImplementation(lookupOf(addresses));
  const { connection } = await openAt(`ws://gateway.example:${port}/ws/agent`, identity);
  expect((await connection.over).reason).toMatch(/ECONNREFUSED.*127\.0\.0\.2/);
});

/** A resolver that knows one answer; the names of this machine may all have one address only. */
function lookupOf(addresses: readonly LookupAddress[]): typeof dns.lookup {
  const lookup = (...parameters: unknown[]): void => {
    const answer = parameters.at(-1);
    if (typeof answer === 'function') setImmediate(() => void answer(null, addresses));
  };
  return Object.assign(lookup, dns.lookup);
}

async function openAt(url: string, identity: SmallGateway['identity']): Promise<{ connection: Connection }> {
  const connection = openConnection({
    url,
    ca: undefined,
    identity,
    handle: async () => OK,
    databases: () => [],
    loads: new Set(),
    onChallenge: () => true,
    onWelcome: () => {},
    onFleet: () => {},
    onGoAway: () => {},
  });
  connections.push(connection);
  return { connection };
}

describe('a peer that is no gateway', () => {
  test.each<[string, string | Buffer]>([
    ['answers hello with something else', 'hello yourself'],
    ['sends a challenge without its fields', '{"type":"challenge"}'],
    ['sends bytes before the end of the handshake', Buffer.from([1, 2, 3])],
  ])('and %s is left', async (_title, answer) => {
    const { connection, welcomes } = await open({
      instead: { hello: (socket) => socket.send(answer, { binary: typeof answer !== 'string' }) },
    });
    const end = await connection.over;
    expect(end.reason).toContain('not a gateway of this protocol');
    expect(end).toMatchObject({ heldMs: 0, refused: false });
    expect(welcomes).toEqual([]);
  });

  test('and sends nothing is disconnected after 5 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let silent: Promise<void> | undefined;
    const heard = new Promise<void>((resolve) => {
      silent = open({ instead: { hello: () => resolve() } }).then(() => undefined);
    });
    await silent;
    await heard;
    const [connection] = connections;
    let over = false;
    const end = connection?.over.then((end) => {
      over = true;
      return end;
    });
    vi.advanceTimersByTime(4999);
    await new Promise(setImmediate);
    expect(over).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await end).toMatchObject({ reason: 'no handshake within 5 s', heldMs: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a text message after the handshake is a breach of the protocol', async () => {
  const { connection } = await open();
  const side = await gateway.next();
  side.socket.send('hello');
  expect(await side.closed).toBe(CLOSE.protocol_error);
  expect((await connection.over).reason).toContain('text message after the handshake');
});

describe('draining', () => {
  test('sends go-away, answers what is in flight, and closes with 1001', async () => {
    const finish: ((outcome: CallOutcome) => void)[] = [];
    const { connection } = await open({}, { handle: () => new Promise((resolve) => finish.push(resolve)) });
    const side = await gateway.next();
    side.say(request(1));
    await expect.poll(() => finish.length, { interval: 5 }).toBe(1);
    const drained = connection.drain(10_000);
    await side.frame('go_away');
    expect(side.received).toHaveLength(1);
    finish[0]?.(OK);
    expect(await side.frame('result')).toMatchObject({ id: 1 });
    expect(await side.closed).toBe(CLOSE.going_away);
    await drained;
    await connection.over;
  });

  test('ends when its time is up', async () => {
    const { connection } = await open({}, { handle: () => new Promise(() => {}) });
    const side = await gateway.next();
    side.say(request(1));
    side.say({ type: 'ping', token: 1 });
    await side.frame('pong');
    await connection.drain(20);
    expect(await side.closed).toBe(CLOSE.going_away);
  });

  test('closes a connection that was never welcomed', async () => {
    let arrived = (): void => {};
    const dialled = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { connection } = await open({ instead: { hello: () => arrived() } });
    await dialled;
    await connection.drain(10_000);
    expect(await connection.over).toMatchObject({ reason: 'shutting down', heldMs: 0 });
  });

  test('ends an attempt to connect that is still dialling', async () => {
    const { connection, welcomes } = await open();
    await connection.drain(10_000);
    expect(await connection.over).toMatchObject({ heldMs: 0, refused: false });
    expect(welcomes).toEqual([]);
  });
});

describe('the databases of the agent', () => {
  const unavailable: CallOutcome = {
    kind: 'error',
    code: 'AGENT_DATABASE_UNAVAILABLE',
    message: 'try again later',
    notStarted: true,
  };
  const handle: ConnectionOptions['handle'] = async ({ capability }) =>
    capability === '$describe' ? OK : unavailable;

  test('I52: are told to the gateway after the description, and again when one changes its state', async () => {
    let state: 'ready' | 'away' = 'away';
    const databases = (): readonly DatabaseState[] => [{ name: 'shop', state }];
    const { connection } = await open({ features: ['databases'] }, { handle, databases });
    const side = await gateway.next();
    connection.databasesChanged();
    side.say(request(1), request(2, '$describe'));
    await side.frame('databases');
    expect(side.received).toEqual([
      expect.objectContaining({ type: 'error', id: 1, code: 'AGENT_DATABASE_UNAVAILABLE' }),
      expect.objectContaining({ type: 'result', id: 2 }),
      { type: 'databases', databases: [{ name: 'shop', state: 'away' }] },
    ]);
    connection.databasesChanged();
    state = 'ready';
    connection.databasesChanged();
    side.say(request(3));
    await side.answer(3);
    expect(side.received.filter(({ type }) => type === 'databases')).toEqual([
      { type: 'databases', databases: [{ name: 'shop', state: 'away' }] },
      { type: 'databases', databases: [{ name: 'shop', state: 'ready' }] },
    ]);
  });

  test.each([{}, { features: [] }, { features: ['fleet'] }])(
    'I52: are not told to a gateway of %j, to which the agent is busy',
    async (options) => {
      const { connection } = await open(options, {
        handle,
        databases: () => [{ name: 'shop', state: 'away' }],
      });
      const side = await gateway.next();
      side.say(request(1, '$describe'), request(2));
      expect(await side.answer(2)).toMatchObject({ type: 'error', code: 'AGENT_BUSY', notStarted: true });
      await side.answer(1);
      connection.databasesChanged();
      side.say(request(3));
      await side.answer(3);
      expect(side.received.map(({ type }) => type)).toEqual(['error', 'result', 'error']);
    },
  );

  test('a gateway that tells of databases is left', async () => {
    await open({ features: ['databases'] });
    const side = await gateway.next();
    side.say({ type: 'databases', databases: [] });
    expect(await side.closed).toBe(CLOSE.protocol_error);
  });
});
