import { CLOSE } from '@svc/protocol';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  request,
  startGateway,
  type AgentSide,
  type SmallGateway,
  type SmallGatewayOptions,
} from './gateway-by-hand.testing.ts';
import { openGatewayLinks, type GatewayLinks, type GatewayLinksOptions } from './gateway-links.ts';
import type { CallOutcome } from '../calls/handle-call.ts';

const OK: CallOutcome = {
  kind: 'result',
  rows: Buffer.from('[]'),
  count: 0,
  truncated: false,
  release: () => {},
};

let gateway: SmallGateway;
let link: GatewayLinks;
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all([link.stop(), gateway.close()]);
});

interface Kept {
  readonly connected: string[];
  readonly losses: {
    readonly reason: string;
    readonly connId: string | undefined;
    readonly retryInMs: number | undefined;
  }[];
}

async function keep(
  options: SmallGatewayOptions = {},
  overrides: Partial<GatewayLinksOptions> = {},
): Promise<Kept> {
  gateway = await startGateway(options);
  const kept: Kept = { connected: [], losses: [] };
  link = openGatewayLinks({
    url: gateway.url,
    ca: undefined,
    identity: gateway.identity,
    handle: async () => OK,
    databases: () => [],
    random: () => 0,
    maxLinks: 64,
    resolveIntervalMs: 10_000,
    loads: new Set(),
    onConnected: (_url, { connId }) => kept.connected.push(connId),
    onLost: (_url, { reason, connId }, retryInMs) => kept.losses.push({ reason, connId, retryInMs }),
    onDialled: () => {},
    onShort: () => {},
    ...overrides,
  });
  return kept;
}

test('a lost connection is replaced, again and again', async () => {
  const kept = await keep();
  for (let time = 1; time <= 5; time++) {
    const side = await gateway.next();
    await expect.poll(() => kept.connected.length, { interval: 2 }).toBe(time);
    side.socket.terminate();
    await expect.poll(() => kept.losses.length, { interval: 2 }).toBe(time);
  }
  await gateway.next();
  expect(kept.connected.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((dial) => `connection-${dial}`));
  expect(new Set(kept.losses.map(({ reason }) => reason))).toEqual(new Set(['connection lost (1006)']));
});

test('a gateway that refuses the agent is dialled less and less often, without end', async () => {
  const kept = await keep(
    { instead: { hello: (socket) => socket.close(CLOSE.handshake_timeout) } },
    { random: () => 0.01 },
  );
  await expect.poll(() => kept.losses.length, { interval: 5 }).toBeGreaterThanOrEqual(5);
  expect(kept.losses.slice(0, 5).map(({ retryInMs }) => retryInMs)).toEqual([5, 10, 20, 40, 50]);
  expect(kept.connected).toEqual([]);
});

describe('after six losses, a connection that held', () => {
  /** Random numbers: almost zero until then, and 0.1 from then on. */
  async function holdAfterLosses(heldMs: number): Promise<{ kept: Kept; side: AgentSide }> {
    let random = 0.001;
    const kept = await keep({}, { random: () => random });
    let side = await gateway.next();
    for (let losses = 6; losses > 0; losses--) {
      side.socket.terminate();
      side = await gateway.next();
    }
    await expect.poll(() => kept.connected.length, { interval: 2 }).toBe(7);
    const realNow = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => realNow() + heldMs);
    random = 0.1;
    return { kept, side };
  }

  test.each([
    [0, 500],
    [30_000, 200],
    [60_000, 50],
  ])('%i ms and is lost makes the next wait %i ms at this throw of the dice', async (heldMs, retryInMs) => {
    const { kept, side } = await holdAfterLosses(heldMs);
    side.socket.terminate();
    await expect.poll(() => kept.losses.length, { interval: 5 }).toBe(7);
    expect(kept.losses.at(-1)).toMatchObject({ retryInMs });
  });

  test('I39: hardly at all is replaced at once when its gateway leaves', async () => {
    const { side } = await holdAfterLosses(0);
    const since = Date.now();
    side.say({ type: 'go_away', reason: 'leaving' });
    await gateway.next();
    expect(Date.now() - since).toBeLessThan(1500);
  });
});

test(
  'while nobody listens the waits are at most 5 s for the first minute, then 30 s',
  { tags: ['agent:reconnect'] },
  async () => {
    const kept = await keep({}, { random: () => 0.001 });
    const { socket } = await gateway.next();
    await gateway.close();
    socket.terminate();
    const longest = (): number => Math.max(...kept.losses.map(({ retryInMs = 0 }) => retryInMs));
    await expect.poll(() => kept.losses.length, { interval: 5 }).toBeGreaterThan(10);
    expect(longest()).toBe(5);
    const realNow = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => realNow() + 60_000);
    await expect.poll(longest, { interval: 5 }).toBe(30);
  },
);

test.each([
  [429, '7', 7000],
  [429, '100000', 30_000],
  [429, 'Fri, 01 Jan 2100 00:00:00 GMT', 0],
  [429, undefined, 0],
  [404, '7', 0],
])('HTTP %i with Retry-After %s is waited for %i ms at least', async (status, header, retryInMs) => {
  const kept = await keep({
    http: (_request, response) => {
      if (header !== undefined) response.setHeader('Retry-After', header);
      response.writeHead(status).end();
    },
  });
  await expect.poll(() => kept.losses.length, { interval: 5 }).toBeGreaterThanOrEqual(1);
  expect(kept.losses[0]).toMatchObject({ retryInMs });
});

describe('a gateway that leaves', () => {
  test('is replaced while it still gets its answers', async () => {
    const finish: ((outcome: CallOutcome) => void)[] = [];
    const kept = await keep({}, { handle: () => new Promise((resolve) => finish.push(resolve)) });
    const old = await gateway.next();
    old.say(request(1));
    await expect.poll(() => finish.length, { interval: 5 }).toBe(1);
    old.say({ type: 'go_away', reason: 'leaving' }, { type: 'go_away', reason: 'leaving' });
    const fresh = await gateway.next();
    fresh.say(request(1));
    await expect.poll(() => finish.length, { interval: 5 }).toBe(2);
    for (const answer of finish) answer(OK);
    expect(await old.frame('result')).toMatchObject({ id: 1 });
    expect(await fresh.frame('result')).toMatchObject({ id: 1 });
    expect(kept.losses).toEqual([]);
    old.socket.close(CLOSE.going_away);
    await old.closed;
    // Neither the second go-away nor the end of the old connection makes another dial.
    fresh.say({ type: 'ping', token: 1 });
    await fresh.frame('pong');
    expect(gateway.dials()).toBe(2);
    expect(kept.losses).toEqual([
      { reason: 'going_away (1001)', connId: 'connection-1', retryInMs: undefined },
    ]);
  });
});

describe('stop()', () => {
  const resources = (): string[] =>
    process.getActiveResourcesInfo().filter((kind) => /^(?:TCP|Timeout|GetAddr)/.test(kind));
  /** Beyond those that tests of other files had before, and which may end meanwhile. */
  const left = (before: readonly string[]): string[] => {
    const others = [...before];
    return resources().filter((kind) => {
      const at = others.indexOf(kind);
      if (at >= 0) others.splice(at, 1);
      return at < 0;
    });
  };

  test('answers what is in flight, closes, and leaves neither socket nor timer', async () => {
    const before = resources();
    let stopped: Promise<void> | undefined;
    const kept = await keep(
      {},
      {
        async handle() {
          stopped = link.stop();
          await side.frame('go_away');
          return OK;
        },
      },
    );
    const side = await gateway.next();
    side.say(request(1));
    expect(await side.closed).toBe(CLOSE.going_away);
    expect(side.received).toMatchObject([{ type: 'go_away' }, { type: 'result', id: 1 }]);
    await stopped;
    expect(kept.losses).toEqual([]);
    expect(gateway.dials()).toBe(1);
    await gateway.close();
    for (let turn = 0; turn < 1000 && left(before).length > 0; turn++) await new Promise(setImmediate);
    expect(left(before)).toEqual([]);
  });

  test('while waiting to dial ends the waiting', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const kept = await keep(
      { instead: { hello: (socket) => socket.close(CLOSE.handshake_timeout) } },
      { random: () => 0.2 },
    );
    await expect.poll(() => kept.losses.length, { interval: 5 }).toBe(1);
    expect(kept.losses).toMatchObject([{ retryInMs: 100, connId: undefined }]);
    await link.stop();
    expect(vi.getTimerCount()).toBe(0);
    expect(gateway.dials()).toBe(1);
  });

  test('while dialling ends the attempt, and no connection is reported', async () => {
    const kept = await keep();
    await link.stop();
    expect(kept.connected).toEqual([]);
    expect(kept.losses).toEqual([]);
  });
});
