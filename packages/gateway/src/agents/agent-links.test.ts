import { once } from 'node:events';
import { CLOSE, decodeMessage, parseChallenge, parseWelcome, type Frame } from '@svc/protocol';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createDescriptionBudget } from './description-budget.ts';
import { createAgentEndpoint, createAgentUpgradeHandler, type AgentEndpoint } from './endpoint.ts';
import { createRegistry } from './registry.ts';
import { createResultBudget } from './result-budget.ts';
import { createSessionDirectory } from './session-directory.ts';
import {
  answer,
  becomeAgent,
  createAgentKey,
  describing,
  dialAgentEndpoint,
  helloBytes,
  introduce,
  knownKeys,
  sayFrames,
  sayText,
  type HelloOptions,
  type PeerByHand,
} from './unauthenticated-peer.testing.ts';
import { createCatalog } from '../catalog/catalog.ts';
import { startServer, type StartedServer } from '../http/server-by-hand.testing.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createAgentLinks, type AgentLinks } from './agent-links.ts';

const key = createAgentKey();
const description = describing('get');

let server: StartedServer;
let endpoint: AgentEndpoint;
let links: AgentLinks;
let replicas: number;
const events: GatewayEvent[] = [];

beforeEach(() => {
  events.length = 0;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await endpoint.close();
  await server.close();
});

function change(to: number): void {
  replicas = to;
  links.replicaCountChanged();
}

async function start(
  options: { readonly replicas?: number; readonly linksPerReplica?: number; readonly maxLinks?: number } = {},
): Promise<void> {
  replicas = options.replicas ?? 3;
  const { linksPerReplica = 2, maxLinks } = options;
  const observe = (event: GatewayEvent): void => void events.push(event);
  links = createAgentLinks({
    replicaCount: () => replicas,
    linksPerReplica,
    maxLinks,
    observe,
    now: () => performance.now(),
  });
  const directory = createSessionDirectory(
    createRegistry(() => 0),
    createCatalog(observe),
  );
  endpoint = createAgentEndpoint({
    rules: {
      agentKey: knownKeys(key),
      audiences: undefined,
      replicaId: 'replica',
      worker: 1,
      replicaCount: () => replicas,
      linksPerReplica,
      maxParamsBytes: 1000,
    },
    descriptions: createDescriptionBudget(() => []),
    severalServices: false,
    directoryOf: () => directory,
    budget: createResultBudget(1000),
    links,
    observe,
  });
  server = await startServer({ agent: createAgentUpgradeHandler(endpoint) });
}

async function join(offer: Omit<HelloOptions, 'keyId'> = { features: ['fleet'] }): Promise<PeerByHand> {
  const connected = named('agent_connected').length;
  const { agent } = await becomeAgent(server.port, key, { description, ...offer });
  sayFrames(agent, answer(1, description));
  await expect.poll(() => named('agent_connected').length, { interval: 2 }).toBe(connected + 1);
  return agent;
}

const named = (event: GatewayEvent['event']): GatewayEvent[] => events.filter((one) => one.event === event);
const frames = async (agent: PeerByHand): Promise<Frame[]> => decodeMessage(await agent.next());

/** An agent process that finds out where it is and goes. */
async function glance(instanceId = 'instance'): Promise<void> {
  const peer = await dialAgentEndpoint(server.port);
  sayText(peer, helloBytes({ keyId: key.keyId, features: ['fleet'], instanceId }));
  expect(parseChallenge(await peer.next())).toMatchObject({ replica_id: 'replica', worker: 1 });
  peer.socket.close();
  await peer.closed;
}

describe('an agent with the feature', () => {
  test('is told of replicas and links, and again when the count changes, at either version', async () => {
    await start();
    for (const versions of [[1], [2]]) {
      const agent = await introduce(server.port, key, { description, versions, features: ['fleet'] });
      expect(parseWelcome(await agent.next())).toMatchObject({ replica_count: 3, links_per_replica: 2 });
      await frames(agent);
      // Not yet described: it counts as a link all the same.
      change(replicas + 2);
      expect(await frames(agent)).toEqual([{ type: 'fleet', replicaCount: replicas, linksPerReplica: 2 }]);
      change(3);
      await frames(agent);
      agent.socket.close();
      await agent.closed;
    }
  });

  test('I44: that is one link too many is told to look elsewhere, unless it replaces its own', async () => {
    await start({ maxLinks: 1 });
    const first = await join({ features: ['fleet'], instanceId: 'a' });
    const other = await introduce(server.port, key, { description, features: ['fleet'], instanceId: 'b' });
    expect(await other.closed).toEqual({ code: CLOSE.enough_links, reason: '' });
    await join({ features: ['fleet'], instanceId: 'a' });
    first.socket.close();
    await first.closed;
    await join({ features: ['fleet'], instanceId: 'a' });
    const third = await introduce(server.port, key, { description, features: ['fleet'], instanceId: 'a' });
    expect((await third.closed).code).toBe(CLOSE.enough_links);
    const still = await introduce(server.port, key, { description, features: ['fleet'], instanceId: 'b' });
    expect((await still.closed).code).toBe(CLOSE.enough_links);
  });
});

describe('an agent without it', () => {
  test('I43: gets neither a fleet frame nor 4409', async () => {
    await start({ maxLinks: 1 });
    const old = await join({});
    change(7);
    endpoint.goAway();
    expect(await frames(old)).toMatchObject([{ type: 'go_away' }]);
    const other = await introduce(server.port, key, { description, instanceId: 'b' });
    expect(await other.closed).toEqual({ code: CLOSE.going_away, reason: '' });
    expect(named('agent_rejected')).toMatchObject([{ reason: expect.stringContaining('MAX_AGENT_LINKS') }]);
  });

  test('is reported once where more than one link is wanted', async () => {
    await start({ replicas: 1, linksPerReplica: 1 });
    await join({});
    await join({ features: ['fleet'], instanceId: 'new' });
    expect([named('agent_single_link').length, links.single]).toEqual([0, 0]);
    change(2);
    change(3);
    await join({});
    await join({ instanceId: 'later' });
    expect(named('agent_single_link')).toMatchObject([{ instance_id: 'instance' }, { instance_id: 'later' }]);
    expect(links.single).toBe(3);
  });
});

test('links that agents here should hold besides are counted', async () => {
  await start({ linksPerReplica: 3 });
  await join({ features: ['fleet'], instanceId: 'a' });
  const second = await join({ features: ['fleet'], instanceId: 'a' });
  await join({ features: ['fleet'], instanceId: 'b' });
  await join({ instanceId: 'old' });
  expect(links.missing).toBe(3);
  second.socket.close();
  await once(second.socket, 'close');
  await expect.poll(() => links.missing, { interval: 2 }).toBe(4);
});

test('an agent that gets here again and again and finds no other is reported once', async () => {
  await start();
  const clock = vi.spyOn(performance, 'now');
  const startedAt = performance.now();
  const at = (ms: number): unknown => clock.mockReturnValue(startedAt + ms);
  at(0);
  const agent = await join();
  await glance();
  await glance('unknown');
  at(20_000);
  await glance();
  expect(named('links_short')).toEqual([]);
  at(33_000);
  await glance();
  await glance('unknown');
  await glance();
  await expect.poll(() => named('links_short').length, { interval: 2 }).toBe(1);
  expect(named('links_short')).toMatchObject([
    { instance_id: 'instance', replicas: 3, links_per_replica: 2 },
  ]);
  agent.socket.terminate();
});
