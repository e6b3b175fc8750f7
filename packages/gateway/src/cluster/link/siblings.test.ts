import { existsSync, readdirSync } from 'node:fs';
import { joinPieces, type RequestFrame } from '@svc/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { arrived, busy, data, request, resultHead, smallResult } from '../../agents/agent-by-hand.testing.ts';
import type { AgentOutcome, AgentRequest, CallableLink } from '../../agents/callable-link.ts';
import { NOBODY } from '../../agents/registry.ts';
import { noteBytes } from '../../catalog/long-descriptions.ts';
import { offering } from '../../catalog/offer.testing.ts';
import type { AgentOffer } from '../../catalog/offer.ts';
import {
  startReplica,
  type EnteredAgent,
  type EnterOptions,
  type ReplicaByHand,
  type WorkerByHand,
} from './replica-by-hand.testing.ts';

let replica: ReplicaByHand;
beforeEach(() => {
  replica = startReplica();
});
afterEach(() => replica.stop());

function offer(instanceId = 'one', name = 'get', keyId = 'key'): AgentOffer {
  const openapi = { openapi: '3.1.0', info: { title: name, version: '1' }, paths: {} };
  const manifest = [{ name, exposed: true, timeout_ms: 1000 }];
  return offering({ openapi, manifest }, keyId, instanceId);
}

async function listed(agent: EnteredAgent): Promise<EnteredAgent> {
  await expect.poll(agent.isListed, { interval: 2 }).toBe(true);
  return agent;
}

/** Two workers, and an agent of the second. */
async function pair(options: EnterOptions = {}): Promise<{
  readonly near: WorkerByHand;
  readonly far: WorkerByHand;
  readonly agent: EnteredAgent;
}> {
  const near = await replica.start(0);
  const far = await replica.start(1);
  const agent = await listed(far.enter(offer(), options));
  return { near, far, agent };
}

function linkFor(worker: WorkerByHand, capability = 'get'): CallableLink {
  const choice = worker.registry.choose(capability, NOBODY);
  if (typeof choice === 'string') throw new Error(choice);
  return choice;
}

interface Call {
  readonly outcome: Promise<AgentOutcome>;
  readonly cancel: () => void;
}

function call(worker: WorkerByHand, sent: AgentRequest = request()): Call {
  let cancel = (): void => {};
  const outcome = new Promise<AgentOutcome>((resolve) => {
    cancel = linkFor(worker).call(sent, resolve);
  });
  return { outcome, cancel };
}

/** The requests that have reached the agent, once there are so many. */
async function requests(agent: EnteredAgent, count = 1): Promise<RequestFrame[]> {
  const ofAgent = (): RequestFrame[] => agent.received.filter((frame) => frame.type === 'request');
  await expect.poll(() => ofAgent().length, { interval: 1 }).toBe(count);
  return ofAgent();
}

async function reached(agent: EnteredAgent, type: string): Promise<void> {
  await expect.poll(() => agent.received.map((frame) => frame.type), { interval: 1 }).toContain(type);
}

test('a call reaches the agent of a sibling as its caller made it, and its answer the caller', async () => {
  const { near, agent } = await pair();
  const params = Buffer.from('{"id":7}');
  const metadata = {
    request_id: 'r1',
    principal: 'key:a',
    traceparent: '00-aa-bb-01',
    token: 't'.repeat(8192),
  };
  const { outcome } = call(near, { capability: 'get', params, timeoutMs: 900, metadata, principal: 'key:a' });
  const [sent] = await requests(agent);
  expect(sent).toMatchObject({ capability: 'get', timeoutMs: 900, params, fin: true });
  expect({ ...sent?.metadata }).toEqual(metadata);
  agent.say(smallResult(sent?.id ?? 0, '[{"id":7}]', 1));
  const result = await outcome;
  expect(result).toMatchObject({ kind: 'result', count: 1, truncated: false });
  expect(result.kind === 'result' && Buffer.from(joinPieces(result.rows)).toString()).toBe('[{"id":7}]');
  expect(near.siblings.calls).toBe(1);
});

test('I50: an agent is listed, and its ping answered, when every worker can call it', async () => {
  const workers = [await replica.start(0), await replica.start(1), await replica.start(2)];
  const [, far] = workers;
  if (far === undefined) throw new Error('no worker');
  await listed(far.enter(offer()));
  expect(workers.map(({ registry }) => typeof registry.choose('get', NOBODY))).toEqual(
    workers.map(() => 'object'),
  );
});

test('a worker with an agent of its own sends nothing to its siblings', async () => {
  const { near, agent } = await pair();
  const own = await listed(near.enter(offer('two')));
  const { outcome } = call(near);
  const [sent] = await requests(own);
  own.say(smallResult(sent?.id ?? 0));
  await outcome;
  expect(agent.received).toEqual([]);
  expect(near.siblings.calls).toBe(0);
});

test('parameters beyond the window reach the agent whole', async () => {
  const { near, agent } = await pair();
  const params = Buffer.alloc(3_000_000, 'p');
  const { outcome } = call(near, request(params));
  const [first] = await requests(agent);
  const id = first?.id ?? 0;
  expect(first?.paramsLength).toBe(params.length);
  agent.say({ type: 'credit', id, bytes: params.length });
  await expect.poll(() => arrived(agent), { interval: 2 }).toBe(params.length);
  agent.say(smallResult(id));
  expect(await outcome).toMatchObject({ kind: 'result' });
});

test('a large result waits for memory at its caller only', async () => {
  const { near, far, agent } = await pair();
  const blocked = near.budget.reserve(64 * 1024 * 1024, () => {});
  const rows = Buffer.alloc(1_000_000, 'r');
  const { outcome } = call(near);
  const [sent] = await requests(agent);
  const id = sent?.id ?? 0;
  agent.say(resultHead(id, rows.length, rows.subarray(0, 60_000)));
  agent.say(data(id, rows.subarray(60_000, 120_000), false));
  expect(far.budget.reservedBytes).toBe(0);
  expect(agent.received.filter((frame) => frame.type === 'credit')).toEqual([]);
  blocked();
  let credit = 131_072;
  let seen = 0;
  for (let at = 120_000; at < rows.length;) {
    await expect
      .poll(
        () => {
          const credits = agent.received.filter((frame) => frame.type === 'credit');
          for (const frame of credits.slice(seen)) credit += frame.bytes;
          seen = credits.length;
          return credit > at;
        },
        { interval: 1 },
      )
      .toBe(true);
    const end = Math.min(at + 50_000, credit, rows.length);
    agent.say(data(id, rows.subarray(at, end), end === rows.length));
    at = end;
  }
  const result = await outcome;
  if (result.kind !== 'result') throw new Error(result.kind);
  expect(Buffer.from(joinPieces(result.rows)).equals(rows)).toBe(true);
  expect(near.budget.reservedBytes).toBe(rows.length);
  result.release();
  expect([near.budget.reservedBytes, far.budget.reservedBytes]).toEqual([0, 0]);
});

describe('a call ends', () => {
  test('with the error of the agent', async () => {
    const { near, agent } = await pair();
    const { outcome } = call(near);
    const [sent] = await requests(agent);
    agent.say(busy(sent?.id ?? 0));
    expect(await outcome).toEqual({
      kind: 'error',
      code: 'AGENT_BUSY',
      message: 'try again',
      notStarted: true,
    });
  });

  test('at the agent when its caller cancels it', async () => {
    const { near, far, agent } = await pair();
    const { cancel } = call(near);
    await requests(agent);
    cancel();
    await reached(agent, 'cancel');
    expect([linkFor(near).inFlight, linkFor(far).inFlight]).toEqual([0, 0]);
  });

  test.each([
    ['before its answer', false],
    ['in its answer', true],
  ])('as lost when the agent is lost %s', async (_when, answerBegun) => {
    const { near, agent } = await pair();
    const { outcome } = call(near);
    const [sent] = await requests(agent);
    if (answerBegun) agent.say(resultHead(sent?.id ?? 0, 100));
    agent.lose();
    expect(await outcome).toEqual({ kind: 'lost', answerBegun });
    expect(near.budget.reservedBytes).toBe(0);
  });

  test('as lost when the sibling is killed, whose agents are gone at once', async () => {
    const { near, far, agent } = await pair();
    const { outcome } = call(near);
    await requests(agent);
    const killed = far.kill();
    expect(await outcome).toEqual({ kind: 'lost', answerBegun: false });
    expect(near.registry.choose('get', NOBODY)).toBe('offline');
    await killed;
    expect(near.registry.connected).toBe(false);
    expect(near.catalog.knows('get')).toBe(true);
  });

  test('at the agent when the worker of its caller is killed', async () => {
    const { near, agent } = await pair();
    void call(near).outcome;
    await requests(agent);
    await near.kill();
    await reached(agent, 'cancel');
    expect(agent.session.inFlight).toBe(0);
  });

  test('as not started when the agent has as many as it takes', async () => {
    const { near, far, agent } = await pair({ maxInflight: 1 });
    const first = call(near);
    await requests(agent);
    expect(await call(near).outcome).toMatchObject({ code: 'AGENT_BUSY', notStarted: true });
    first.cancel();
    await reached(agent, 'cancel');
    expect(linkFor(far).inFlight).toBe(0);
  });
});

test('a caller with fewer calls at the agent gets a place from one of another worker', async () => {
  const { near, far, agent } = await pair({ maxInflight: 2 });
  const many = [
    call(far, request(undefined, 'get', 'key:many')),
    call(far, request(undefined, 'get', 'key:many')),
  ];
  await requests(agent, 2);
  const few = call(near, request(undefined, 'get', 'key:few'));
  await requests(agent, 3);
  expect(await many[1]?.outcome).toMatchObject({ code: 'AGENT_BUSY', notStarted: false });
  many[0]?.cancel();
  few.cancel();
});

describe('what agents offer', () => {
  test('is the same in every worker, in the same order, also in one that comes late', async () => {
    const near = await replica.start(0);
    const far = await replica.start(1);
    const agents = [
      near.enter(offer('a', 'first', 'key-1')),
      far.enter(offer('b', 'second', 'key-2')),
      near.enter(offer('c', 'third', 'key-3')),
      far.enter(offer('d', 'third', 'key-4')),
    ];
    for (const agent of agents) await listed(agent);
    agents[1]?.lose();
    await expect.poll(() => near.registry.choose('second', NOBODY), { interval: 2 }).toBe('offline');
    const late = await replica.start(2);
    const served = [near, far, late].map(({ catalog }) => JSON.stringify(catalog.description));
    expect(new Set(served).size).toBe(1);
    expect(near.catalog.description?.manifest.map(({ name }) => name).toSorted()).toEqual([
      'first',
      'second',
      'third',
    ]);
    expect(typeof late.registry.choose('first', NOBODY)).toBe('object');
    expect(late.registry.choose('second', NOBODY)).toBe('offline');
    expect(late.registry.connected).toBe(true);
  });

  test('is replaced everywhere by the next agent of a key that has none', async () => {
    const { near, far, agent } = await pair();
    agent.lose();
    await listed(near.enter(offer('two', 'other')));
    for (const { catalog } of [near, far]) {
      expect([catalog.knows('get'), catalog.knows('other')]).toEqual([false, true]);
    }
  });

  test('is one object in each worker, whatever the number of links', async () => {
    const { near, far } = await pair();
    await listed(far.enter(offer('two')));
    await listed(far.enter(offer('three')));
    expect(near.catalog.description).toBeDefined();
    const capability = linkFor(near).capability('get');
    expect(capability).toBe(near.catalog.description?.manifest[0]);
  });

  test('is told as different by the worker of the newer agent alone', async () => {
    const { near, far } = await pair();
    const other = offering(
      { ...offer().description, manifest: [{ name: 'get', exposed: false, timeout_ms: 1 }] },
      'other',
      'two',
    );
    await listed(near.enter(other));
    expect([near, far].map(({ events }) => events.map(({ event }) => event))).toEqual([
      ['descriptions_differ'],
      [],
    ]);
  });
});

describe('another link of one agent process', () => {
  const fleet = { features: ['fleet'] };

  test('supersedes that of another worker where the agent keeps one', async () => {
    const { near, far, agent } = await pair();
    const running = call(far);
    const [sent] = await requests(agent);
    const next = await listed(near.enter(offer()));
    await reached(agent, 'go_away');
    const later = call(far);
    const [taken] = await requests(next);
    next.say(smallResult(taken?.id ?? 0));
    await later.outcome;
    agent.say(smallResult(sent?.id ?? 0));
    expect(await running.outcome).toMatchObject({ kind: 'result' });
  });

  test('stands beside that of another worker where the agent keeps several', async () => {
    const { near, far, agent } = await pair(fleet);
    await listed(near.enter(offer(), fleet));
    expect([linkFor(near), linkFor(far)].every((link) => link.available)).toBe(true);
    expect(agent.received).toEqual([]);
    expect(linkFor(far)).toBe(agent.session);
  });

  test('supersedes that of its own worker', async () => {
    const { far, agent } = await pair(fleet);
    const next = await listed(far.enter(offer('one', 'newer'), fleet));
    await reached(agent, 'go_away');
    expect(far.registry.choose('get', NOBODY)).toBe('offline');
    expect(linkFor(far, 'newer')).toBe(next.session);
  });
});

test('sockets are gone when their workers are', async () => {
  const { near, far } = await pair();
  const folder = replica.folder();
  expect(readdirSync(folder)).toHaveLength(2);
  await far.kill();
  await expect.poll(() => readdirSync(folder).length, { interval: 2 }).toBe(1);
  await near.kill();
  await replica.stop();
  expect(existsSync(folder)).toBe(false);
});

test('what an agent tells of its databases, and the answer that belongs to it, reach every worker', async () => {
  const { near, far, agent } = await pair({ features: ['fleet', 'databases'] });
  expect(near.registry.databasesReady('all')).toBe(false);
  agent.say({ type: 'databases', databases: [{ name: 'shop', state: 'ready' }] });
  await expect.poll(() => near.registry.databasesReady('all'), { interval: 2 }).toBe(true);
  agent.say({ type: 'databases', databases: [{ name: 'shop', state: 'away' }] });
  await expect.poll(() => near.registry.databasesReady('any'), { interval: 2 }).toBe(false);
  expect(far.registry.databasesReady('any')).toBe(false);
  const late = await replica.start(2);
  await expect.poll(() => late.registry.connected, { interval: 2 }).toBe(true);
  expect(linkFor(late).databases).toEqual([{ name: 'shop', state: 'away' }]);
  const { outcome } = call(near);
  await requests(agent);
  agent.say({ type: 'error', id: 1, code: 'AGENT_DATABASE_UNAVAILABLE', message: '', notStarted: true });
  expect(await outcome).toMatchObject({ code: 'AGENT_DATABASE_UNAVAILABLE', notStarted: true });
});

test('so does what an agent tells while its long description is on the way', async () => {
  const near = await replica.start(0);
  const far = await replica.start(1);
  const paths = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`/${at}`, { at }]));
  const long = offer();
  Object.assign(long.description.openapi, { paths });
  noteBytes(long.description, 2_000_000);
  const agent = far.enter(long, { features: ['fleet', 'databases'] });
  agent.say({ type: 'databases', databases: [{ name: 'shop', state: 'ready' }] });
  await expect.poll(agent.isListed, { interval: 2, timeout: 10_000 }).toBe(true);
  expect(near.registry.databasesReady('all')).toBe(true);
});
