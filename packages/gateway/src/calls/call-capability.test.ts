import type { AgentErrorCode, Frame, ProtocolVersion, RequestFrame } from '@svc/protocol';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { agentByHand, resultHead, smallResult, type AgentByHand } from '../agents/agent-by-hand.testing.ts';
import { createCatalog, type Catalog } from '../catalog/catalog.ts';
import { offering } from '../catalog/offer.testing.ts';
import { createRegistry, type Registry } from '../agents/registry.ts';
import { createResultBudget } from '../agents/result-budget.ts';
import type { AgentResult } from '../agents/callable-link.ts';
import { createCallCapability, type CallCapability, type CapabilityCall } from './call-capability.ts';
import { createAgentWait, type AgentWait } from './wait-for-agent.ts';
import { keyPrincipal, tokenPrincipal } from '../core/principal.testing.ts';
import { CallerGone } from '../core/call-error.ts';

const TIMEOUT_MS = 1000;
const GRACE_MS = 2000;
const WALL_CLOCK_MS = 1_800_000_000_000;

let now = 0;
let registry: Registry;
let catalog: Catalog;
let agents: AgentByHand[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  now = 5000;
  agents = [];
  // The first of the candidates is compared with the second, and an even load leaves the first.
  registry = createRegistry(() => 0);
  catalog = createCatalog(() => {});
});
afterEach(() => {
  for (const agent of agents) agent.lose();
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  if (timers > 0) throw new Error(`${timers} timers were left behind`);
});

interface Joining {
  /** Of the agent process; by default each agent is one of its own. */
  readonly instanceId?: string;
  readonly timeoutMs?: number;
  readonly maxInflight?: number;
  readonly version?: ProtocolVersion;
  readonly identity?: 'token' | 'gateway';
  readonly features?: readonly string[];
  /** In seconds. */
  readonly maxAge?: number;
}

function join(options: Joining = {}): AgentByHand {
  const agent = agentByHand(createResultBudget(1_000_000), options.maxInflight, options);
  const manifest = [{ name: 'get', exposed: true, timeout_ms: options.timeoutMs ?? TIMEOUT_MS }];
  const identity = options.maxAge === undefined ? {} : { max_age: options.maxAge };
  agent.session.setDescription({ manifest, identity });
  registry.add(agent.session);
  const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} };
  catalog.add(offering({ openapi, manifest }));
  agents.push(agent);
  return agent;
}

/** As the endpoint does it: out of the registry first, then its calls are settled. */
function lose(agent: AgentByHand): void {
  registry.remove(agent.session);
  agent.lose();
}

function call(overrides: Partial<CapabilityCall> = {}): Promise<AgentResult> {
  return createCallCapability(
    registry,
    catalog,
    () => now,
    () => WALL_CLOCK_MS,
  )({
    capability: 'get',
    params: Buffer.from('{}'),
    principal: keyPrincipal('reporting'),
    requestId: 'r1',
    traceparent: undefined,
    signal: new AbortController().signal,
    ...overrides,
  });
}

/** How a call failed, for comparison; fails the test when it did not. */
async function failure(result: Promise<AgentResult>): Promise<unknown> {
  return result.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

async function requests(agent: AgentByHand): Promise<RequestFrame[]> {
  await agent.link.sendQueue.drained();
  return agent.received.filter((frame) => frame.type === 'request');
}

function refusal(code: AgentErrorCode, notStarted: boolean): Frame {
  return { type: 'error', id: 1, code, message: `because of ${code}`, notStarted };
}

test('a call reaches the agent with its time and whom it is for', async () => {
  const agent = join();
  const result = call({ params: Buffer.from('{"id":7}'), traceparent: '00-aa-bb-01' });
  const [sent] = await requests(agent);
  expect(sent).toMatchObject({
    capability: 'get',
    params: Buffer.from('{"id":7}'),
    timeoutMs: TIMEOUT_MS,
    metadata: {
      request_id: 'r1',
      api_key_name: 'reporting',
      principal: 'key:reporting',
      traceparent: '00-aa-bb-01',
    },
  });
  agent.say(smallResult(1, '[{"id":7}]', 1));
  expect(await result).toMatchObject({ count: 1, truncated: false });
});

test('a call without traceparent travels without', async () => {
  const agent = join();
  const result = call();
  const [sent] = await requests(agent);
  expect({ ...sent?.metadata }).toEqual({
    request_id: 'r1',
    api_key_name: 'reporting',
    principal: 'key:reporting',
  });
  agent.say(smallResult(1));
  await result;
});

test('without an agent a call fails in the words of docs/reference/errors.md', async () => {
  expect(await failure(call())).toMatchObject({
    code: 'GATEWAY_AGENT_OFFLINE',
    message: 'agent is not connected',
  });
});

test('a capability whose agents are all away is offline, one that nobody offered is not found', async () => {
  lose(join());
  expect(await failure(call())).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  expect(await failure(call({ capability: 'other' }))).toMatchObject({
    code: 'GATEWAY_CAPABILITY_NOT_FOUND',
  });
  const other = agentByHand(createResultBudget(1));
  agents.push(other);
  registry.add(other.session);
  expect(await failure(call())).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
});

test('a capability that no agent has, and agents that have enough to do', async () => {
  const agent = join({ maxInflight: 1 });
  expect(await failure(call({ capability: 'other' }))).toMatchObject({
    code: 'GATEWAY_CAPABILITY_NOT_FOUND',
  });
  const first = call();
  expect(await failure(call())).toMatchObject({ code: 'AGENT_BUSY' });
  agent.say(smallResult(1));
  await first;
});

test('an agent that does not answer in the capability’s time and 2 s is given up and told so', async () => {
  const agent = join();
  const failed = failure(call());
  await requests(agent);
  agent.say(resultHead(1, 500_000));
  vi.advanceTimersByTime(TIMEOUT_MS + GRACE_MS - 1);
  expect(agent.session.inFlight).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await failed).toMatchObject({ code: 'GATEWAY_AGENT_TIMEOUT' });
  await agent.link.sendQueue.drained();
  expect(agent.received.at(-1)).toEqual({ type: 'cancel', id: 1 });
  expect(agent.session.inFlight).toBe(0);
});

test('a call whose agent is lost before any answer is tried on another, with the time that is left', async () => {
  const [first, second] = [join(), join()];
  const result = call();
  await requests(first);
  now += 300;
  lose(first);
  const [again] = await requests(second);
  expect(again).toMatchObject({ capability: 'get', timeoutMs: TIMEOUT_MS - 300, params: Buffer.from('{}') });
  second.say(smallResult(1, '[1]', 1));
  expect(await result).toMatchObject({ count: 1 });
});

test('it is tried again once, not twice', { tags: ['agent:retry'] }, async () => {
  const [first, second, third] = [join(), join(), join()];
  const failed = failure(call());
  lose(first);
  lose(second);
  expect(await failed).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  expect(await requests(third)).toEqual([]);
});

test('the whole time counts, not the time since the second try', async () => {
  const [first, second] = [join(), join()];
  const failed = failure(call());
  vi.advanceTimersByTime(500);
  now += 500;
  lose(first);
  await requests(second);
  vi.advanceTimersByTime(TIMEOUT_MS + GRACE_MS - 500);
  expect(await failed).toMatchObject({ code: 'GATEWAY_AGENT_TIMEOUT' });
  await second.link.sendQueue.drained();
  expect(second.received.at(-1)).toEqual({ type: 'cancel', id: 1 });
});

test('a call whose answer has begun is not made twice', async () => {
  const [first, second] = [join(), join()];
  const failed = failure(call());
  first.say(resultHead(1, 500_000));
  lose(first);
  expect(await failed).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  expect(await requests(second)).toEqual([]);
});

test.each([
  [100, 1],
  [99, 0],
])('with %i ms left there are %i further tries', async (leftMs, tries) => {
  const [first, second] = [join(), join()];
  const result = failure(call());
  now += TIMEOUT_MS - leftMs;
  lose(first);
  expect(await requests(second)).toHaveLength(tries);
  lose(second);
  expect(await result).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
});

test('a call that no agent starts moves on until none is left; the last says why', async () => {
  const [first, second, third] = [join(), join(), join()];
  const failed = failure(call());
  first.say(refusal('AGENT_DRAINING', true));
  second.say(refusal('AGENT_UNKNOWN_CAPABILITY', true));
  expect(third.session.inFlight).toBe(1);
  third.say(refusal('AGENT_BUSY', true));
  expect(await failed).toMatchObject({ code: 'AGENT_BUSY' });
});

test('a call that moved on because it was not started may still be tried again after a loss', async () => {
  const [first, second, third] = [join(), join(), join()];
  const result = call();
  first.say(refusal('AGENT_DRAINING', true));
  lose(second);
  third.say(smallResult(1));
  expect(await result).toMatchObject({ count: 0 });
});

test('what one link of an agent process refuses is not offered to its other links', async () => {
  const [first, second, other] = [join({ instanceId: 'one' }), join({ instanceId: 'one' }), join()];
  const failed = failure(call());
  first.say(refusal('AGENT_BUSY', true));
  expect(second.session.inFlight).toBe(0);
  other.say(refusal('AGENT_BUSY', true));
  expect(await failed).toMatchObject({ code: 'AGENT_BUSY' });
  expect(await requests(second)).toEqual([]);
});

test('a call whose link is lost goes to another agent process', { tags: ['agent:retry'] }, async () => {
  const [first, second, other] = [join({ instanceId: 'one' }), join({ instanceId: 'one' }), join()];
  const result = call();
  lose(first);
  expect(await requests(second)).toEqual([]);
  other.say(smallResult(1));
  expect(await result).toMatchObject({ count: 0 });
});

test('and when there is none, to another link of the same', { tags: ['agent:retry'] }, async () => {
  const [first, second] = [join({ instanceId: 'one' }), join({ instanceId: 'one' })];
  const result = call();
  lose(first);
  second.say(smallResult(1));
  expect(await result).toMatchObject({ count: 0 });
});

test.each(['AGENT_INVALID_PARAMS', 'AGENT_PRINCIPAL_REFUSED'] as const)(
  'what one agent refuses as %s is not offered to the next',
  async (code) => {
    const [first, second] = [join(), join()];
    const failed = failure(call());
    first.say(refusal(code, true));
    expect(second.session.inFlight).toBe(0);
    expect(await failed).toMatchObject({ code });
  },
);

test.each<[AgentErrorCode, string]>([
  ['AGENT_INVALID_PARAMS', 'AGENT_INVALID_PARAMS'],
  ['AGENT_PRINCIPAL_REFUSED', 'AGENT_PRINCIPAL_REFUSED'],
  ['AGENT_QUERY_TIMEOUT', 'AGENT_QUERY_TIMEOUT'],
  ['AGENT_RESULT_TOO_LARGE', 'AGENT_RESULT_TOO_LARGE'],
  ['AGENT_QUERY_FAILED', 'AGENT_QUERY_FAILED'],
  ['AGENT_BUSY', 'AGENT_BUSY'],
  ['AGENT_UNKNOWN_CAPABILITY', 'GATEWAY_CAPABILITY_NOT_FOUND'],
  ['AGENT_CANCELLED', 'GATEWAY_AGENT_OFFLINE'],
  ['AGENT_DRAINING', 'GATEWAY_AGENT_OFFLINE'],
])('%s of a started call is final and reaches the caller as %s', async (code, publicCode) => {
  const [first, second] = [join(), join()];
  const failed = failure(call());
  first.say(refusal(code, false));
  expect(await failed).toMatchObject({ name: 'CallError', code: publicCode });
  expect(await requests(second)).toEqual([]);
});

describe('an agent that lies', { tags: ['error:AGENT_INVALID_PARAMS', 'error:AGENT_QUERY_FAILED'] }, () => {
  const lie = 'password authentication failed for user "app" \u001b[31mselect * from salary';
  test.each<[AgentErrorCode, boolean, string]>([
    ['AGENT_BUSY', true, 'the agent has as many calls as it takes, try again shortly'],
    ['AGENT_DATABASE_UNAVAILABLE', true, 'the database of the capability is not available, try again later'],
    ['AGENT_QUERY_TIMEOUT', true, 'the time was up before the query began'],
    ['AGENT_QUERY_TIMEOUT', false, 'the query took longer than it may'],
    ['AGENT_RESULT_TOO_LARGE', false, 'the result is larger than it may be, narrow the request'],
    ['AGENT_QUERY_FAILED', false, 'the query could not be completed'],
    ['AGENT_UNKNOWN_CAPABILITY', true, 'no such capability'],
    ['AGENT_CANCELLED', false, 'agent is not connected'],
    ['AGENT_DRAINING', true, 'agent is not connected'],
  ])('does not put words into the answer of %s (not started: %s)', async (code, notStarted, message) => {
    const agent = join({ features: ['databases'] });
    const failed = failure(call());
    agent.say({ type: 'error', id: 1, code, message: lie, notStarted });
    expect(await failed).toMatchObject({ name: 'CallError', message });
  });

  test('says of parameters what it likes, in characters that lie still', async () => {
    const agent = join();
    const failed = failure(call());
    const all = (from: number, to: number): string =>
      String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, at) => from + at));
    const unsafe = [
      all(0, 0x1f),
      all(0x7f, 0x9f),
      '\u061c\u200e\u200f\u2028\u2029',
      all(0x202a, 0x202e),
      all(0x2066, 0x2069),
    ].join('');
    const message = `naïve: ${unsafe}must match "ä\\d+", 書 🐈; id: is required`;
    agent.say({ type: 'error', id: 1, code: 'AGENT_INVALID_PARAMS', message, notStarted: true });
    expect(await failed).toMatchObject({
      code: 'AGENT_INVALID_PARAMS',
      message: 'naïve: must match "ä\\d+", 書 🐈; id: is required',
    });
  });
});

test('when the caller leaves, the agent is told to stop', async () => {
  const agent = join();
  const caller = new AbortController();
  const failed = failure(call({ signal: caller.signal }));
  await requests(agent);
  caller.abort();
  expect(await failed).toBeInstanceOf(CallerGone);
  await agent.link.sendQueue.drained();
  expect(agent.received.at(-1)).toEqual({ type: 'cancel', id: 1 });
  agent.say(smallResult(1));
  expect(agent.closedWith()).toBeUndefined();
});

test('when the caller leaves after the second try began, the second agent is told', async () => {
  const [first, second] = [join(), join()];
  const caller = new AbortController();
  // Lost already, but not yet out of the registry.
  first.lose();
  vi.spyOn(first.session, 'available', 'get').mockReturnValue(true);
  const failed = failure(call({ signal: caller.signal }));
  await requests(second);
  caller.abort();
  expect(await failed).toBeInstanceOf(CallerGone);
  await second.link.sendQueue.drained();
  expect(second.received.at(-1)).toEqual({ type: 'cancel', id: 1 });
});

test('a caller who has left already costs no agent anything', async () => {
  const agent = join();
  expect(await failure(call({ signal: AbortSignal.abort() }))).toBeInstanceOf(CallerGone);
  expect(await requests(agent)).toEqual([]);
});

test('a caller who leaves after the answer changes nothing', async () => {
  const agent = join();
  const caller = new AbortController();
  const result = call({ signal: caller.signal });
  await requests(agent);
  agent.say(smallResult(1));
  await result;
  caller.abort();
  await agent.link.sendQueue.drained();
  expect(agent.received.map((frame) => frame.type)).toEqual(['request']);
});

test('a capability whose whole time passes before the call can be sent is still answered properly', async () => {
  const agent = join({ timeoutMs: 1 });
  const failed = failure(
    createCallCapability(
      registry,
      catalog,
      () => (now += 5),
    )({
      capability: 'get',
      params: Buffer.from('{}'),
      principal: keyPrincipal(''),
      requestId: '',
      traceparent: undefined,
      signal: new AbortController().signal,
    }),
  );
  expect(await requests(agent)).toMatchObject([{ timeoutMs: 1 }]);
  agent.say(refusal('AGENT_QUERY_TIMEOUT', false));
  expect(await failed).toMatchObject({ code: 'AGENT_QUERY_TIMEOUT' });
});

describe('who calls', () => {
  const claims = { org_id: 'north', level: 3 };
  const claimsJson = '{"org_id":"north","level":3}';
  const ann = { principal: 'token:test:ann', issuer: 'https://issuer.example', subject: 'ann' };

  /** What the agent is told of a call by this principal. */
  async function told(agent: AgentByHand, principal: CapabilityCall['principal']): Promise<object> {
    const result = call({ principal });
    const [sent] = await requests(agent);
    agent.say(smallResult(1));
    await result;
    return { ...sent?.metadata };
  }

  test.each<[string, Joining, CapabilityCall['principal'], object]>([
    [
      'a key, at version 1 as ever',
      { version: 1 },
      keyPrincipal('reporting', '*', claims),
      { api_key_name: 'reporting' },
    ],
    [
      'a key with claims',
      {},
      keyPrincipal('reporting', '*', claims),
      { api_key_name: 'reporting', principal: 'key:reporting', claims: claimsJson },
    ],
    ['a token', {}, tokenPrincipal(), { ...ann, client_id: 'client' }],
    ['a token that names no client', {}, tokenPrincipal({ clientId: '' }), ann],
    [
      'a token with claims, to an agent that takes our word',
      { identity: 'gateway' },
      tokenPrincipal({ claims }),
      { ...ann, client_id: 'client', claims: claimsJson },
    ],
    [
      'a token, to an agent that verifies it',
      { identity: 'token' },
      tokenPrincipal(),
      { ...ann, client_id: 'client', token: 'header.payload.signature' },
    ],
  ])('is told to the agent: %s', async (_title, joining, principal, metadata) => {
    expect(await told(join(joining), principal)).toEqual({ request_id: 'r1', ...metadata });
  });

  test('with a token is known to agents of version 2 only', async () => {
    const [old] = [join({ version: 1 }), join({ version: 1 })];
    const message = expect.stringContaining('takes calls with access tokens');
    expect(await failure(call({ principal: tokenPrincipal() }))).toMatchObject({
      code: 'GATEWAY_AGENT_OFFLINE',
      message,
    });
    const current = join();
    const result = call({ principal: tokenPrincipal() });
    expect(await requests(current)).toHaveLength(1);
    expect(old.session.inFlight).toBe(0);
    // No retry leads to an old one either.
    current.say(refusal('AGENT_DRAINING', true));
    expect(await failure(result)).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
    expect(old.session.inFlight).toBe(0);
  });

  test.each([
    [60, true],
    [61, false],
    [undefined, false],
  ])('with a token of %s s is sent to an agent that takes 60 s: %s', async (age, isSent) => {
    const agent = join({ maxAge: 60 });
    const issuedAt = age === undefined ? undefined : WALL_CLOCK_MS / 1000 - age;
    const result = failure(call({ principal: tokenPrincipal({ issuedAt }) }));
    expect(await requests(agent)).toHaveLength(isSent ? 1 : 0);
    if (isSent) agent.say(smallResult(1));
    expect(await result).toEqual(
      isSent ? 'no failure' : expect.objectContaining({ code: 'GATEWAY_UNAUTHORIZED' }),
    );
  });

  test('with a token that is too old for one agent goes to another', async () => {
    const [strict, lenient, alsoStrict] = [60, 3600, 60].map((maxAge) => join({ maxAge }));
    if (lenient === undefined) throw new Error('no agent has joined');
    for (let round = 0; round < 10; round++) {
      const result = call({ principal: tokenPrincipal({ issuedAt: WALL_CLOCK_MS / 1000 - 600 }) });
      expect(await requests(lenient)).toHaveLength(round + 1);
      lenient.say(smallResult(round + 1));
      await result;
    }
    for (const agent of [strict, alsoStrict]) expect(agent?.session.inFlight).toBe(0);
  });

  test('with a key has no age', async () => {
    const agent = join({ maxAge: 60 });
    expect(await told(agent, keyPrincipal('reporting'))).toMatchObject({ principal: 'key:reporting' });
  });
});

describe('where no agent has place', () => {
  test('the newest call of the principal with most gives way to one of another, and is refused', async () => {
    const [first, second] = [join({ maxInflight: 3 }), join({ maxInflight: 3 })];
    const many = Array.from({ length: 6 }, () => failure(call({ principal: keyPrincipal('many') })));
    const few = call({ principal: keyPrincipal('few') });
    const refused = await Promise.race(many);
    expect(refused).toMatchObject({
      code: 'AGENT_BUSY',
      message: 'the agent has as many calls as it takes, try again shortly',
    });
    const sent = (await requests(first)).find(({ metadata }) => metadata['api_key_name'] === 'few');
    expect(sent?.id).toBe(4);
    first.say(smallResult(4));
    expect(await few).toMatchObject({ count: 0 });
    for (const agent of [first, second]) lose(agent);
    await Promise.all(many);
  });

  test('a principal with as many calls is refused itself', async () => {
    const agent = join({ maxInflight: 2 });
    const calls = ['one', 'other'].map((name) => failure(call({ principal: keyPrincipal(name) })));
    for (const name of ['one', 'other', 'third']) {
      expect(await failure(call({ principal: keyPrincipal(name) }))).toMatchObject({ code: 'AGENT_BUSY' });
    }
    expect(await requests(agent)).toHaveLength(2);
    lose(agent);
    await Promise.all(calls);
  });
});

describe('where the only agent has just been lost, and calls may wait for the next one', () => {
  const WAIT_MS = 500;
  let agentWait: AgentWait;
  let calls: CallCapability;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    agentWait = createAgentWait(WAIT_MS);
    registry = createRegistry(() => 0, {
      added: (session) => agentWait.came(session),
      removed: (session) => agentWait.left(session),
    });
    calls = createCallCapability(
      registry,
      catalog,
      () => now,
      () => WALL_CLOCK_MS,
      undefined,
      agentWait,
    );
  });
  afterEach(() => {
    // Those that forget agents that were lost.
    vi.advanceTimersByTime(2000);
  });

  /** The time that passes for deadlines and for timers. */
  function pass(ms: number): void {
    now += ms;
    vi.advanceTimersByTime(ms);
  }

  function start(overrides: Partial<CapabilityCall> = {}): Promise<AgentResult> {
    return calls({
      capability: 'get',
      params: Buffer.from('{}'),
      principal: keyPrincipal('reporting'),
      requestId: 'r1',
      traceparent: undefined,
      signal: new AbortController().signal,
      ...overrides,
    });
  }

  async function answered(agent: AgentByHand, result: Promise<AgentResult>): Promise<AgentResult> {
    const sent = await requests(agent);
    agent.say(...sent.map(({ id }) => smallResult(id)));
    return result;
  }

  test('a new call goes to the agent that comes, with the time that is left', async () => {
    lose(join());
    const result = start();
    pass(300);
    const agent = join();
    expect(await requests(agent)).toMatchObject([{ timeoutMs: TIMEOUT_MS - 300 }]);
    expect(await answered(agent, result)).toMatchObject({ count: 0 });
  });

  test('a call that was with the agent is sent once more', async () => {
    const first = join();
    const result = start();
    await requests(first);
    lose(first);
    pass(300);
    const second = join();
    expect(await answered(second, result)).toMatchObject({ count: 0 });
  });

  test('a call that a leaving agent refuses goes to the one that comes', async () => {
    const first = join();
    const result = start();
    await requests(first);
    registry.remove(first.session);
    first.say(refusal('AGENT_DRAINING', true));
    expect(await answered(join(), result)).toMatchObject({ count: 0 });
  });

  test.each(['a new call', 'a call that was with the agent'])(
    '%s fails as ever when none comes',
    async (kind) => {
      const agent = join();
      const early = kind === 'a new call' ? undefined : failure(start());
      lose(agent);
      let settled = false;
      const result = (early ?? failure(start())).finally(() => (settled = true));
      pass(WAIT_MS - 1);
      await Promise.resolve();
      expect(settled).toBe(false);
      pass(1);
      expect(await result).toMatchObject({
        code: 'GATEWAY_AGENT_OFFLINE',
        message: 'agent is not connected',
      });
    },
  );

  test('a call waits once', async () => {
    const first = join();
    const result = failure(start());
    lose(first);
    const second = join();
    lose(second);
    expect(await result).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  });

  test('a call with too little time does not wait', async () => {
    lose(join({ timeoutMs: 90 }));
    expect(await failure(start())).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  });

  test('a caller who leaves waits no longer, and is not sent', async () => {
    lose(join());
    const caller = new AbortController();
    const result = failure(start({ signal: caller.signal }));
    caller.abort();
    expect(await result).toBeInstanceOf(CallerGone);
    const agent = join();
    expect(await requests(agent)).toEqual([]);
  });

  test('2 s later calls fail at once', async () => {
    lose(join());
    pass(2000);
    expect(await failure(start())).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  });

  test('calls that the new agent cannot take all are refused as busy', async () => {
    lose(join());
    const [first, second] = [start(), failure(start())];
    const agent = join({ maxInflight: 1 });
    expect(await second).toMatchObject({ code: 'AGENT_BUSY' });
    expect(await answered(agent, first)).toMatchObject({ count: 0 });
  });

  test('what an agent refuses while another is away fails at once', async () => {
    const [agent, other] = [join(), join()];
    const result = failure(start());
    lose(other);
    agent.say(refusal('AGENT_BUSY', true));
    expect(await result).toMatchObject({ code: 'AGENT_BUSY' });
  });

  test('a capability that nobody offered is not found, at once', async () => {
    lose(join());
    expect(await failure(start({ capability: 'other' }))).toMatchObject({
      code: 'GATEWAY_CAPABILITY_NOT_FOUND',
    });
  });

  test('at the end of the gateway nothing waits', async () => {
    lose(join());
    const result = failure(start());
    agentWait.close();
    expect(await result).toMatchObject({ code: 'GATEWAY_AGENT_OFFLINE' });
  });
});

describe(
  'a capability whose database is not available',
  { tags: ['error:AGENT_DATABASE_UNAVAILABLE'] },
  () => {
    const features = ['databases'];
    const sendCalls = (): CallCapability =>
      createCallCapability(
        registry,
        catalog,
        () => now,
        () => WALL_CLOCK_MS,
      );
    const order = (): CapabilityCall => ({
      capability: 'get',
      params: Buffer.from('{}'),
      principal: keyPrincipal('reporting'),
      requestId: 'r1',
      traceparent: undefined,
      signal: new AbortController().signal,
    });
    const unavailable = (id: number): Frame => ({
      type: 'error',
      id,
      code: 'AGENT_DATABASE_UNAVAILABLE',
      message: '',
      notStarted: true,
    });

    test('is asked of another agent, which then gets the calls until the first tells of its databases', async () => {
      const [first, second] = [join({ features }), join({ features })];
      const callCapability = sendCalls();
      const moved = callCapability(order());
      expect(await requests(first)).toHaveLength(1);
      first.say(unavailable(1));
      expect(await requests(second)).toHaveLength(1);
      second.say(smallResult(1, '[]', 0));
      expect(await moved).toMatchObject({ count: 0 });
      const direct = callCapability(order());
      expect(await requests(first)).toHaveLength(1);
      expect(await requests(second)).toHaveLength(2);
      second.say(smallResult(2, '[]', 0));
      await direct;
      first.say({ type: 'databases', databases: [{ name: 'shop', state: 'ready' }] });
      const again = callCapability(order());
      expect(await requests(first)).toHaveLength(2);
      first.say(smallResult(2, '[]', 0));
      await again;
    });

    test('is asked of each agent once, and then of one for each call', async () => {
      const all = [join({ features }), join({ features }), join({ features })];
      const callCapability = sendCalls();
      const counts = async (): Promise<number[]> =>
        Promise.all(all.map(async (agent) => (await requests(agent)).length));
      const failed = failure(callCapability(order()));
      for (const agent of all) {
        await requests(agent);
        agent.say(unavailable(1));
      }
      expect(await failed).toMatchObject({ code: 'AGENT_DATABASE_UNAVAILABLE' });
      expect(await counts()).toEqual([1, 1, 1]);
      const next = failure(callCapability(order()));
      expect(await counts()).toEqual([2, 1, 1]);
      all[0]?.say(unavailable(2));
      expect(await next).toMatchObject({ code: 'AGENT_DATABASE_UNAVAILABLE' });
      expect(await counts()).toEqual([2, 1, 1]);
    });
  },
);
