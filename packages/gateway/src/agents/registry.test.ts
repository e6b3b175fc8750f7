import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { agentByHand, request, type AgentByHand } from './agent-by-hand.testing.ts';
import type { CallableLink } from './callable-link.ts';
import { createRegistry, NOBODY, type Registry } from './registry.ts';
import { createResultBudget } from './result-budget.ts';

const opened: AgentByHand[] = [];
afterEach(() => {
  for (const agent of opened.splice(0)) agent.lose();
});

function join(
  registry: Registry,
  names: string[],
  options: { load?: number; maxInflight?: number } = {},
): AgentByHand {
  const agent = agentByHand(createResultBudget(1), options.maxInflight);
  opened.push(agent);
  agent.session.setDescription({
    manifest: names.map((name) => ({ name, exposed: true, timeout_ms: 1000 })),
  });
  for (let count = 0; count < (options.load ?? 0); count++) agent.session.call(request(), () => {});
  registry.add(agent.session);
  return agent;
}

test('without an agent every capability is offline', () => {
  const registry = createRegistry(Math.random);
  expect(registry.choose('get', NOBODY)).toBe('offline');
  expect(registry.connected).toBe(false);
});

test('a capability that no connected agent has is offline', () => {
  const registry = createRegistry(Math.random);
  join(registry, ['get']);
  expect(registry.connected).toBe(true);
  expect(registry.choose('other', NOBODY)).toBe('offline');
});

test('a capability whose agents all have enough to do is busy, not offline', () => {
  const registry = createRegistry(Math.random);
  const agent = join(registry, ['get'], { load: 1, maxInflight: 1 });
  join(registry, ['other']);
  expect(registry.choose('get', NOBODY)).toBe('busy');
  agent.session.call(request(), () => {})();
  expect(registry.choose('other', NOBODY)).not.toBe('busy');
});

test('an agent that was tried already is not chosen again', () => {
  const registry = createRegistry(Math.random);
  const first = join(registry, ['get']);
  expect(registry.choose('get', { ...NOBODY, links: [first.session] })).toBe('offline');
  const second = join(registry, ['get']);
  expect(registry.choose('get', { ...NOBODY, links: [first.session] })).toBe(second.session);
});

test('of two agents the less loaded is chosen, whatever the random number is', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
      const registry = createRegistry(() => random);
      join(registry, ['get'], { load: 3 });
      const idle = join(registry, ['get'], { load: 2 });
      expect(registry.choose('get', NOBODY)).toBe(idle.session);
    }),
    { numRuns: 50 },
  );
});

test('two different agents are compared, and only such that have the capability', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ has: fc.boolean(), load: fc.nat(4) }), { maxLength: 6 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (agents, one, other) => {
        const dice = [one, other];
        const registry = createRegistry(() => dice.shift() ?? 0);
        const joined = agents.map(({ has, load }) => join(registry, has ? ['get', 'x'] : ['x'], { load }));
        const able = joined.filter((_, index) => agents[index]?.has).map((agent) => agent.session);
        const chosen = registry.choose('get', NOBODY);
        if (typeof chosen === 'string') {
          expect(able).toEqual([]);
          expect(chosen).toBe('offline');
          return;
        }
        expect(able).toContain(chosen);
        // Whoever is compared with another is never the single most loaded one.
        const loads = able.map((session) => session.inFlight);
        const most = Math.max(...loads);
        if (able.length > 1 && loads.filter((load) => load === most).length === 1) {
          expect(chosen.inFlight).toBeLessThan(most);
        }
      },
    ),
  );
});

test('calls spread: with even loads every agent gets some', () => {
  const registry = createRegistry(Math.random);
  const agents = [join(registry, ['get']), join(registry, ['get']), join(registry, ['get'])];
  for (let count = 0; count < 300; count++) {
    const chosen = registry.choose('get', NOBODY);
    if (typeof chosen !== 'string') chosen.call(request(), () => {});
  }
  for (const agent of agents) expect(agent.session.inFlight).toBeGreaterThan(90);
});

describe('links that other processes hold', () => {
  const remote = (instanceId: string): CallableLink => {
    const agent = agentByHand(createResultBudget(1), 1000, { instanceId });
    opened.push(agent);
    agent.session.setDescription({ manifest: [{ name: 'get', exposed: true, timeout_ms: 1000 }] });
    return agent.session;
  };

  test('get a call only where no link of this process takes it', () => {
    const registry = createRegistry(() => 0);
    const link = remote('far');
    registry.addRemote(link, true);
    expect(registry.choose('get', NOBODY)).toBe(link);
    const own = join(registry, ['get'], { maxInflight: 1 });
    expect(registry.choose('get', NOBODY)).toBe(own.session);
    own.session.call(request(), () => {});
    expect(registry.choose('get', NOBODY)).toBe(link);
    registry.removeRemote(link);
    expect(registry.choose('get', NOBODY)).toBe('busy');
  });

  test('get none of an agent that takes no more over its link to this process', () => {
    const registry = createRegistry(() => 0);
    const own = join(registry, ['get'], { load: 1, maxInflight: 1 });
    registry.addRemote(remote(own.session.instanceId), true);
    expect(registry.choose('get', NOBODY)).toBe('busy');
  });

  test('are none of an agent process that was tried', () => {
    const registry = createRegistry(() => 0);
    registry.addRemote(remote('far'), true);
    expect(registry.choose('get', { instances: ['far'], links: [] })).toBe('offline');
  });

  test('count as connected once every process can call them', () => {
    const registry = createRegistry(() => 0);
    const [link, gone] = [remote('far'), remote('gone')];
    registry.addRemote(link, false);
    registry.addRemote(gone, false);
    registry.removeRemote(gone);
    expect(registry.connected).toBe(false);
    registry.list(link);
    expect([registry.connected, registry.connections]).toEqual([true, 0]);
  });
});

test('an agent is removed by identity: its successor of the same name stays', () => {
  const registry = createRegistry(Math.random);
  const before = join(registry, ['get']);
  const after = join(registry, ['get']);
  registry.remove(before.session);
  registry.remove(before.session);
  expect(registry.choose('get', NOBODY)).toBe(after.session);
});

describe('databases', () => {
  type State = 'ready' | 'away' | 'refused';
  /** `undefined`: an agent without the feature. */
  function told(registry: Registry, states: Readonly<Record<string, State>> | undefined): AgentByHand {
    const agent = agentByHand(createResultBudget(1), 1, {
      features: states === undefined ? [] : ['databases'],
    });
    opened.push(agent);
    registry.add(agent.session);
    const databases = Object.entries(states ?? {}).map(([name, state]) => ({ name, state }));
    if (databases.length > 0) agent.say({ type: 'databases', databases });
    return agent;
  }

  test.each<{ agents: (Readonly<Record<string, State>> | undefined)[]; any: boolean; all: boolean }>([
    { agents: [], any: false, all: true },
    { agents: [undefined], any: true, all: true },
    { agents: [{}], any: false, all: false },
    { agents: [{ shop: 'away' }], any: false, all: false },
    { agents: [{ shop: 'refused' }], any: false, all: false },
    { agents: [{ shop: 'ready' }], any: true, all: true },
    { agents: [{ shop: 'ready', library: 'away' }], any: true, all: false },
    { agents: [{ shop: 'ready', library: 'away' }, { library: 'ready' }], any: true, all: true },
    { agents: [{ shop: 'away' }, undefined], any: true, all: false },
  ])('of $agents: any ready $any, all ready $all', ({ agents, any, all }) => {
    const registry = createRegistry(() => 0);
    for (const states of agents) told(registry, states);
    expect([registry.databasesReady('any'), registry.databasesReady('all')]).toEqual([any, all]);
  });

  test('of an agent that has left do not count', () => {
    const registry = createRegistry(() => 0);
    told(registry, { shop: 'ready' });
    const leaving = told(registry, { library: 'away' });
    expect(registry.databasesReady('all')).toBe(false);
    registry.remove(leaving.session);
    expect(registry.databasesReady('all')).toBe(true);
  });
});
