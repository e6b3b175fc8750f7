import { startTcpBalancer, type TcpBalancer, type BalancerPolicy } from '@svc/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import type { CallOutcome } from '../calls/handle-call.ts';
import { openGatewayLinks, type GatewayLinks, type GatewayLinksOptions } from './gateway-links.ts';
import {
  request,
  startGateway,
  type SmallGateway,
  type SmallGatewayOptions,
} from './gateway-by-hand.testing.ts';

const OK: CallOutcome = {
  kind: 'result',
  rows: Buffer.from('[]'),
  count: 0,
  truncated: false,
  release: () => {},
};

const gateways: SmallGateway[] = [];
let balancer: TcpBalancer | undefined;
let links: GatewayLinks | undefined;
afterEach(async () => {
  await links?.stop();
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
  await balancer?.close();
  balancer = undefined;
});

async function replica(
  id: string,
  count: number,
  options: Partial<SmallGatewayOptions> & { readonly worker?: number; readonly links?: number } = {},
): Promise<SmallGateway> {
  const { worker = 0, links: perReplica = 1, ...rest } = options;
  const gateway = await startGateway({ replica: { id, count, worker, links: perReplica }, ...rest });
  gateways.push(gateway);
  return gateway;
}

interface Kept {
  readonly connected: { readonly replicaId: string | undefined; readonly worker: number | undefined }[];
  readonly lost: string[];
  readonly dialled: string[];
}

function keep(url: string, overrides: Partial<GatewayLinksOptions> = {}): Kept {
  const [first] = gateways;
  if (first === undefined) throw new Error('no gateway');
  const kept: Kept = { connected: [], lost: [], dialled: [] };
  links = openGatewayLinks({
    url,
    ca: undefined,
    maxLinks: 64,
    resolveIntervalMs: 10_000,
    identity: first.identity,
    handle: async () => OK,
    databases: () => [],
    loads: new Set(),
    random: Math.random,
    onConnected: (_url, { place }) =>
      kept.connected.push({ replicaId: place?.replicaId, worker: place?.worker }),
    onLost: (_url, { reason }) => kept.lost.push(reason),
    onDialled: (outcome) => kept.dialled.push(outcome),
    onShort: () => {},
    ...overrides,
  });
  return kept;
}

const held = (): number => links?.held ?? 0;
const behindBalancer = async (policy: BalancerPolicy): Promise<string> => {
  balancer = await startTcpBalancer(
    gateways.map(({ port }) => port),
    policy,
  );
  return `ws://127.0.0.1:${balancer.port}/ws/agent`;
};

test.each<BalancerPolicy>(['random', 'round robin'])(
  'all replicas and workers behind a %s balancer get a link each; a duplicate is left unsigned and is no loss',
  async (policy) => {
    for (const id of ['a', 'b']) {
      for (const worker of [0, 1]) await replica(id, 2, { worker, links: 2 });
    }
    const kept = keep(await behindBalancer(policy));
    await expect.poll(held, { interval: 10, timeout: 15_000 }).toBe(4);
    expect(kept.connected.map(({ replicaId, worker }) => `${replicaId}${worker}`).toSorted()).toEqual([
      'a0',
      'a1',
      'b0',
      'b1',
    ]);
    expect(kept.lost).toEqual([]);
    const duplicates = kept.dialled.filter((outcome) => outcome === 'duplicate').length;
    expect(gateways.reduce((sum, { dials }) => sum + dials(), 0)).toBe(4 + duplicates);
  },
);

test('a replica that is lost is dialled for alone, and found when it is back', async () => {
  for (const id of ['a', 'b', 'c']) await replica(id, 3);
  const kept = keep(await behindBalancer('round robin'));
  await expect.poll(held, { interval: 10 }).toBe(3);
  const [gone] = gateways.splice(0, 1);
  await gone?.close();
  await expect.poll(held, { interval: 10 }).toBe(2);
  const back = await replica('d', 3);
  balancer?.targets(gateways.map(({ port }) => port));
  await expect.poll(held, { interval: 10, timeout: 15_000 }).toBe(3);
  expect(back.dials()).toBe(1);
  expect(kept.connected.at(-1)?.replicaId).toBe('d');
});

test('after a go-away only the link that is missing is dialled for, and answers still leave by the old one', async () => {
  await replica('a', 2);
  await replica('b', 2);
  let finish: (outcome: CallOutcome) => void = () => {};
  const kept = keep(await behindBalancer('round robin'), {
    handle: () => new Promise((resolve) => (finish = resolve)),
  });
  const [a, b] = gateways;
  const [old] = await Promise.all([a?.next(), b?.next()]);
  await expect.poll(held, { interval: 10 }).toBe(2);
  old?.say(request(1));
  await expect.poll(() => finish.length, { interval: 2 }).toBe(1);
  await replica('c', 2);
  balancer?.targets(gateways.slice(1).map(({ port }) => port));
  old?.say({ type: 'go_away', reason: 'leaving' });
  await expect.poll(() => kept.connected.map(({ replicaId }) => replicaId), { interval: 10 }).toContain('c');
  finish(OK);
  expect(await old?.frame('result')).toMatchObject({ id: 1 });
  expect([held(), kept.lost]).toEqual([2, []]);
  expect(a?.dials()).toBe(1);
});

test('a fleet frame makes it look for more, and where it has the feature only', async () => {
  const first = await replica('a', 1);
  await replica('b', 2);
  keep(await behindBalancer('round robin'));
  const side = await first.next();
  await expect.poll(held, { interval: 10 }).toBe(1);
  expect(balancer?.connections()).toBe(1);
  side.say({ type: 'fleet', replicaCount: 2, linksPerReplica: 1 });
  await expect.poll(held, { interval: 10 }).toBe(2);
});

test('I43: a gateway that does not know the feature may not send what belongs to it', async () => {
  const old = await startGateway();
  gateways.push(old);
  const kept = keep(old.url);
  const side = await old.next();
  expect(side.hello.features).toContain('fleet');
  side.say({ type: 'fleet', replicaCount: 2, linksPerReplica: 1 });
  expect(await side.closed).toBe(4400);
  expect(kept.connected).toEqual([{ replicaId: undefined, worker: undefined }]);
});

test('a worker that takes no more is left for another, which is no loss', async () => {
  await replica('a', 2);
  await replica('b', 2, { instead: { auth: (socket) => socket.close(4409) } });
  const kept = keep(await behindBalancer('round robin'));
  await expect
    .poll(() => kept.dialled.filter((outcome) => outcome === 'full').length, { interval: 10 })
    .toBeGreaterThan(2);
  expect([held(), kept.lost]).toEqual([1, []]);
});

describe('addresses of the name', () => {
  // Only Linux has all of 127.0.0.0/8.
  test.skipIf(process.platform !== 'linux')(
    'are all dialled, by the name of the URL; those that come later too',
    async () => {
      const first = await replica('a', 2);
      const { port } = first;
      await replica('b', 2, { host: '127.0.0.2', port });
      const addresses = ['127.0.0.1', '127.0.0.2'];
      const families: number[] = [];
      const kept = keep(`ws://localhost:${port}/ws/agent`, {
        identity: first.identity,
        resolveIntervalMs: 100,
        async resolve(name, family) {
          expect(name).toBe('localhost');
          families.push(family);
          return [...addresses];
        },
      });
      const side = await first.next();
      await expect.poll(held, { interval: 10 }).toBe(2);
      const third = await replica('c', 3, { host: '127.0.0.3', port });
      addresses.push('127.0.0.3');
      side.say({ type: 'fleet', replicaCount: 3, linksPerReplica: 1 });
      await expect.poll(held, { interval: 10 }).toBe(3);
      expect(third.hosts()).toEqual([`localhost:${port}`]);
      expect(new Set(families)).toEqual(new Set([4]));
      expect(kept.lost).toEqual([]);
    },
  );

  test('that cannot be looked up leave the links as they are', async () => {
    const first = await replica('a', 2);
    await replica('b', 2);
    let lookups = 0;
    balancer = await startTcpBalancer(gateways.map(({ port }) => port));
    const kept = keep(`ws://localhost:${balancer.port}/ws/agent`, {
      resolveIntervalMs: 20,
      resolve: () => (lookups++ % 2 === 0 ? Promise.reject(new Error('no answer')) : Promise.resolve([])),
      identity: first.identity,
    });
    await expect.poll(held, { interval: 10 }).toBe(2);
    const before = lookups;
    await expect.poll(() => lookups, { interval: 10 }).toBeGreaterThan(before + 5);
    expect([held(), kept.lost]).toEqual([2, []]);
  });
});

test('stop() drains every link', async () => {
  await replica('a', 2);
  await replica('b', 2);
  keep(await behindBalancer('round robin'));
  const sides = await Promise.all(gateways.map((gateway) => gateway.next()));
  await expect.poll(held, { interval: 10 }).toBe(2);
  await links?.stop();
  expect(await Promise.all(sides.map(({ closed }) => closed))).toEqual([1001, 1001]);
  for (const { received } of sides) expect(received).toMatchObject([{ type: 'go_away' }]);
});
