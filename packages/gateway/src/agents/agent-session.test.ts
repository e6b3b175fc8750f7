import { CALL_ID_MAX, CLOSE, INITIAL_CREDIT_BYTES, RESULT_MAX_BYTES, type Frame } from '@svc/protocol';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import {
  agentByHand,
  arrived,
  busy,
  data,
  request,
  requestFrame,
  resultHead,
  smallResult,
  type AgentByHand,
} from './agent-by-hand.testing.ts';
import { createResultBudget, type ResultBudget } from './result-budget.ts';
import type { AgentOutcome } from './callable-link.ts';

const opened: AgentByHand[] = [];
afterEach(() => {
  for (const agent of opened.splice(0)) agent.lose();
});

function connect(options: { budget?: ResultBudget; maxInflight?: number } = {}): AgentByHand {
  const agent = agentByHand(options.budget ?? createResultBudget(RESULT_MAX_BYTES), options.maxInflight);
  opened.push(agent);
  return agent;
}

/** Makes a call and collects what it is settled with. */
function call(agent: AgentByHand, params?: Uint8Array): { outcomes: AgentOutcome[]; cancel: () => void } {
  const outcomes: AgentOutcome[] = [];
  const cancel = agent.session.call(request(params), (outcome) => outcomes.push(outcome));
  return { outcomes, cancel };
}

/** Large bodies cross in messages of their own. */
function sayInPieces(agent: AgentByHand, id: number, bytes: Buffer, from: number): void {
  for (let at = from; at < bytes.length; at += 60_000) {
    const piece = bytes.subarray(at, at + 60_000);
    agent.say(data(id, piece, at + piece.length === bytes.length));
  }
}

test('I26: calls reach the agent as they were made, with ids that grow', async () => {
  const agent = connect();
  const params = Buffer.from('{"user_id":1}');
  call(agent, params);
  call(agent);
  call(agent);
  await agent.link.sendQueue.drained();
  expect(agent.received.map((frame) => 'id' in frame && frame.id)).toEqual([1, 2, 3]);
  expect(agent.received[0]).toMatchObject({
    type: 'request',
    capability: 'get',
    timeoutMs: 1000,
    metadata: { request_id: 'r1' },
    params,
    fin: true,
  });
});

test('a result settles its call, whatever the order of the answers', () => {
  const agent = connect();
  const first = call(agent);
  const second = call(agent);
  agent.say(smallResult(2, '[{"a":2}]', 1), smallResult(1));
  expect(second.outcomes).toMatchObject([{ kind: 'result', count: 1, truncated: false }]);
  expect(first.outcomes).toMatchObject([{ kind: 'result', count: 0, truncated: false }]);
  const [outcome] = second.outcomes;
  expect(outcome?.kind === 'result' && Buffer.concat(outcome.rows).toString()).toBe('[{"a":2}]');
  expect(agent.session.inFlight).toBe(0);
});

test('an error arrives with what the agent promised', () => {
  const agent = connect();
  const { outcomes } = call(agent);
  agent.say(busy(1));
  expect(outcomes).toEqual([{ kind: 'error', code: 'AGENT_BUSY', message: 'try again', notStarted: true }]);
});

// What may happen to a connection, in any order; numbers pick among the calls made so far.
type Step =
  | { readonly do: 'call' }
  | { readonly do: 'go_away' }
  | {
      readonly do: 'small' | 'begin' | 'piece' | 'last' | 'error' | 'cancel' | 'release';
      readonly pick: number;
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'call' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'go_away' }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom('small', 'begin', 'piece', 'last', 'error', 'cancel', 'release'),
      pick: fc.nat(7),
    }),
  },
);

const ROWS_BYTES = 40;

test('I24: every call settles exactly once, or never after its cancel, and no memory stays reserved', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const budget = createResultBudget(100);
      const agent = agentByHand(budget);
      const calls: {
        outcomes: AgentOutcome[];
        cancel: () => void;
        /** Bytes of a result under way. */
        sent: number | undefined;
        expected: 'open' | 'result' | 'error' | 'lost' | 'cancelled';
      }[] = [];
      const release = (outcome: AgentOutcome | undefined): void => {
        if (outcome?.kind === 'result') outcome.release();
      };
      for (const now of steps) {
        if (now.do === 'call') {
          calls.push({ ...call(agent), sent: undefined, expected: 'open' });
          continue;
        }
        if (now.do === 'go_away') {
          agent.say({ type: 'go_away', reason: 'leaving' });
          continue;
        }
        const id = (now.pick % Math.max(1, calls.length)) + 1;
        const one = calls[id - 1];
        if (one === undefined) continue;
        const open = one.expected === 'open';
        switch (now.do) {
          case 'small':
            // Of a call that is still open the agent has said nothing yet; of any other it may say anything.
            if (open && one.sent !== undefined) break;
            agent.say(smallResult(id));
            if (open) one.expected = 'result';
            break;
          case 'begin':
            if (open && one.sent !== undefined) break;
            agent.say(resultHead(id, ROWS_BYTES, Buffer.alloc(10)));
            if (open) one.sent = 10;
            break;
          case 'piece':
            if (open && (one.sent === undefined || one.sent >= ROWS_BYTES - 1)) break;
            agent.say(data(id, Buffer.alloc(1), false));
            if (open && one.sent !== undefined) one.sent++;
            break;
          case 'last':
            if (open && one.sent === undefined) break;
            agent.say(data(id, Buffer.alloc(ROWS_BYTES - (one.sent ?? 0)), true));
            if (open) one.expected = 'result';
            break;
          case 'error':
            agent.say(busy(id));
            if (open) one.expected = 'error';
            break;
          case 'cancel':
            one.cancel();
            if (open) one.expected = 'cancelled';
            break;
          case 'release':
            release(one.outcomes[0]);
            break;
        }
        expect(budget.reservedBytes).toBeLessThanOrEqual(100);
        expect(agent.session.inFlight).toBe(calls.filter((other) => other.expected === 'open').length);
      }
      expect(agent.closedWith()).toBeUndefined();
      agent.lose();
      for (const one of calls) {
        if (one.expected === 'open') one.expected = 'lost';
        one.cancel();
        expect(one.outcomes.map((outcome) => outcome.kind)).toEqual(
          one.expected === 'cancelled' ? [] : [one.expected],
        );
        release(one.outcomes[0]);
        release(one.outcomes[0]);
      }
      expect(agent.session.inFlight).toBe(0);
      expect(budget.reservedBytes).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test.each<[string, Frame]>([
  ['a result', smallResult(2)],
  ['data', data(2, Buffer.from('x'), true)],
  ['an error', busy(2)],
  ['credit', { type: 'credit', id: 2, bytes: 1 }],
  ['a result of the highest id', smallResult(CALL_ID_MAX)],
])('I27: %s for a call that was never made ends the link with 4400', async (_title, frame) => {
  const agent = connect();
  const { outcomes } = call(agent);
  agent.say(frame);
  expect(agent.closedWith()).toBe(CLOSE.protocol_error);
  expect(outcomes).toEqual([{ kind: 'lost', answerBegun: false }]);
});

test.each<[string, Frame[]]>([
  ['data before its result', [data(1, Buffer.from('x'), true)]],
  ['a second result', [resultHead(1, 10), resultHead(1, 10)]],
  ['a result above 64 MiB', [resultHead(1, RESULT_MAX_BYTES + 1)]],
])('I29: %s ends the link with 4400', (_title, frames) => {
  const budget = createResultBudget(RESULT_MAX_BYTES);
  const agent = connect({ budget });
  const { outcomes } = call(agent);
  agent.say(...frames);
  expect(agent.closedWith()).toBe(CLOSE.protocol_error);
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(['lost']);
  expect(budget.reservedBytes).toBe(0);
});

test.each<[string, Frame]>([
  ['more bytes than announced', data(1, Buffer.alloc(9), true)],
  ['an end before the announced length', data(1, Buffer.alloc(7), true)],
  ['the announced length without an end', data(1, Buffer.alloc(8), false)],
])('I25: after %s the call is lost without a row', (_title, frame) => {
  const agent = connect();
  const { outcomes } = call(agent);
  agent.say(resultHead(1, 10, Buffer.from('[1')), frame);
  expect(agent.closedWith()).toBe(CLOSE.protocol_error);
  expect(outcomes).toEqual([{ kind: 'lost', answerBegun: true }]);
});

test('I25: a link lost before the last piece of an answer says that it had begun, and gives no part of it', () => {
  const agent = connect();
  const begun = call(agent);
  const waiting = call(agent);
  agent.say(resultHead(1, 10, Buffer.from('[1,2,3,4,')));
  agent.lose();
  expect(begun.outcomes).toEqual([{ kind: 'lost', answerBegun: true }]);
  expect(waiting.outcomes).toEqual([{ kind: 'lost', answerBegun: false }]);
});

test.each<[string, Frame]>([
  ['a request', requestFrame(1)],
  ['a cancel', { type: 'cancel', id: 1 }],
])(
  '%s, which only a gateway sends, ends the link with 4400, also for a call that is over',
  (_title, frame) => {
    const agent = connect();
    call(agent);
    agent.say(smallResult(1), frame);
    expect(agent.closedWith()).toBe(CLOSE.protocol_error);
  },
);

test('a call on a session that has ended is lost at once', () => {
  const agent = connect();
  agent.lose();
  expect(agent.session.available).toBe(false);
  expect(call(agent).outcomes).toEqual([{ kind: 'lost', answerBegun: false }]);
});

/** Bytes beyond the first window. */
function granted(agent: AgentByHand, id: number): number {
  let bytes = 0;
  for (const frame of agent.received) if (frame.type === 'credit' && frame.id === id) bytes += frame.bytes;
  return bytes;
}

test('I28: a large result gets credit only once there is memory for all of it', async () => {
  const budget = createResultBudget(1_000_000);
  const agent = connect({ budget });
  const first = call(agent);
  const second = call(agent);
  const rows = Buffer.alloc(700_000, '[1,2,3]');
  agent.say(resultHead(1, rows.length, rows.subarray(0, 10)), resultHead(2, rows.length));
  await agent.link.sendQueue.drained();
  expect([granted(agent, 1) > 0, granted(agent, 2)]).toEqual([true, 0]);

  sayInPieces(agent, 1, rows, 10);
  const [outcome] = first.outcomes;
  if (outcome?.kind !== 'result') throw new Error('the first call has no result');
  expect(rows.equals(Buffer.concat(outcome.rows))).toBe(true);
  expect(outcome).toMatchObject({ count: 1, truncated: true });
  await agent.link.sendQueue.drained();
  expect(granted(agent, 1)).toBe(rows.length - INITIAL_CREDIT_BYTES);
  // Its rows are still being delivered.
  expect(granted(agent, 2)).toBe(0);

  outcome.release();
  outcome.release();
  await agent.link.sendQueue.drained();
  expect(granted(agent, 2)).toBeGreaterThan(0);
  expect(budget.reservedBytes).toBe(rows.length);
  second.cancel();
  expect(budget.reservedBytes).toBe(0);
});

test('at most half a mebibyte of a result is under way, and at least a quarter until the rest is', async () => {
  const agent = connect();
  const { outcomes } = call(agent);
  const rows = Buffer.alloc(3_000_000, '[1,2,3]');
  agent.say(resultHead(1, rows.length));
  const piece = 60_000;
  for (let arrived = 0; arrived < rows.length; arrived += piece) {
    await agent.link.sendQueue.drained();
    const underWay = INITIAL_CREDIT_BYTES + granted(agent, 1) - arrived;
    expect(underWay).toBeLessThanOrEqual(524_288);
    expect(underWay).toBeGreaterThanOrEqual(Math.min(262_144, rows.length - arrived));
    agent.say(data(1, rows.subarray(arrived, arrived + piece), arrived + piece >= rows.length));
  }
  expect(outcomes).toMatchObject([{ kind: 'result' }]);
});

test('I28: an agent that sends more than it has credit for is disconnected', async () => {
  const budget = createResultBudget(1_000_000);
  const release = budget.reserve(900_000, () => {});
  const agent = connect({ budget });
  const { outcomes } = call(agent);
  const rows = Buffer.alloc(700_000, '[1,2,3]');
  await agent.link.sendQueue.drained();
  agent.say(resultHead(1, rows.length, rows.subarray(0, 10)));
  sayInPieces(agent, 1, rows, 10);
  expect(agent.closedWith()).toBe(CLOSE.protocol_error);
  expect(outcomes).toEqual([{ kind: 'lost', answerBegun: true }]);
  release();
  expect(budget.reservedBytes).toBe(0);
});

test('a result within the first window needs no credit', async () => {
  const agent = connect();
  const { outcomes } = call(agent);
  await agent.link.sendQueue.drained();
  const rows = Buffer.alloc(INITIAL_CREDIT_BYTES, 'x');
  agent.say(resultHead(1, rows.length));
  sayInPieces(agent, 1, rows, 0);
  await agent.link.sendQueue.drained();
  expect(outcomes).toMatchObject([{ kind: 'result' }]);
  expect(agent.received.map((frame) => frame.type)).toEqual(['request']);
});

test.each(['cancel', 'error', 'loss'] as const)(
  'a result that has arrived in part gives its memory back on %s',
  (end) => {
    const budget = createResultBudget(RESULT_MAX_BYTES);
    const agent = connect({ budget });
    const { cancel } = call(agent);
    agent.say(resultHead(1, 500_000));
    expect(budget.reservedBytes).toBe(500_000);
    if (end === 'cancel') cancel();
    else if (end === 'error') agent.say(busy(1, false));
    else agent.lose();
    expect(budget.reservedBytes).toBe(0);
  },
);

test('parameters beyond the first window follow as the agent takes them', async () => {
  const agent = connect();
  const params = Buffer.alloc(300_000, 'x');
  call(agent, params);
  await expect.poll(() => arrived(agent)).toBe(INITIAL_CREDIT_BYTES);
  agent.say({ type: 'credit', id: 1, bytes: params.length - INITIAL_CREDIT_BYTES });
  await agent.link.sendQueue.drained();
  expect(arrived(agent)).toBe(params.length);
});

test('parameters that an agent refuses before they are all there are given up', async () => {
  const agent = connect();
  const { outcomes } = call(agent, Buffer.alloc(300_000, 'x'));
  await expect.poll(() => arrived(agent)).toBe(INITIAL_CREDIT_BYTES);
  agent.say(busy(1));
  expect(outcomes).toMatchObject([{ kind: 'error', code: 'AGENT_BUSY' }]);
  await agent.link.sendQueue.drained();
  expect(agent.link.sendQueue.queuedBytes).toBe(0);
  expect(arrived(agent)).toBe(INITIAL_CREDIT_BYTES);
});

test('a call cancelled before its head is sent never reaches the agent', async () => {
  const agent = connect();
  const { outcomes, cancel } = call(agent);
  cancel();
  call(agent);
  await agent.link.sendQueue.drained();
  expect(agent.received.map((frame) => [frame.type, 'id' in frame && frame.id])).toEqual([['request', 2]]);
  expect(outcomes).toEqual([]);
});

test('I27: a call cancelled later is cancelled at the agent, once, and what the agent still says is ignored', async () => {
  const agent = connect();
  const { outcomes, cancel } = call(agent);
  await agent.link.sendQueue.drained();
  cancel();
  cancel();
  expect(agent.session.inFlight).toBe(0);
  agent.say(resultHead(1, 10), data(1, Buffer.alloc(10), true), busy(1), { type: 'credit', id: 1, bytes: 9 });
  await agent.link.sendQueue.drained();
  expect(agent.received.map((frame) => frame.type)).toEqual(['request', 'cancel']);
  expect(agent.closedWith()).toBeUndefined();
  expect(outcomes).toEqual([]);
});

test('I30: an agent that goes away takes no further call and still answers', () => {
  const agent = connect();
  const { outcomes } = call(agent);
  expect(agent.session.available).toBe(true);
  agent.say({ type: 'go_away', reason: 'leaving' });
  expect(agent.drainings()).toBe(1);
  expect(agent.session.available).toBe(false);
  agent.say(smallResult(1));
  expect(outcomes).toMatchObject([{ kind: 'result' }]);
});

test('an agent that was told of the shutdown still gets the calls that were accepted', async () => {
  const agent = connect();
  agent.session.goAway('shutting down');
  expect(agent.session.available).toBe(true);
  await agent.link.sendQueue.drained();
  expect(agent.received).toEqual([{ type: 'go_away', reason: 'shutting down' }]);
});

test('I30: an agent gets no more calls at once than it takes', () => {
  const agent = connect({ maxInflight: 2 });
  const { cancel } = call(agent);
  expect(agent.session.available).toBe(true);
  call(agent);
  expect(agent.session.available).toBe(false);
  cancel();
  expect(agent.session.available).toBe(true);
});

test('the manifest says which capabilities there are', () => {
  const { session } = connect();
  const entry = { name: 'get', exposed: true, timeout_ms: 5 };
  session.setDescription({ manifest: [entry] });
  expect(session.capability('get')).toEqual(entry);
  expect(session.capability('constructor')).toBeUndefined();
});

/** Calls of these principals in turn, each with what it was settled with. */
function callsOf(agent: AgentByHand, principals: string): AgentOutcome[][] {
  return principals.split('').map((principal) => {
    const outcomes: AgentOutcome[] = [];
    agent.session.call(request(undefined, 'get', principal), (outcome) => outcomes.push(outcome));
    return outcomes;
  });
}

const GAVE_PLACE = { kind: 'error', code: 'AGENT_BUSY', notStarted: false };

test('the newest call of the principal with most gives its place, and is cancelled at the agent', async () => {
  const agent = connect({ maxInflight: 6 });
  const calls = callsOf(agent, 'ababaa');
  await agent.link.sendQueue.drained();
  expect(agent.session.available).toBe(false);
  expect(agent.session.makePlace('c')).toBe(true);
  expect(agent.session.available).toBe(true);
  await agent.link.sendQueue.drained();
  expect(agent.received.at(-1)).toEqual({ type: 'cancel', id: 6 });
  expect(calls.map((outcomes) => outcomes.length)).toEqual([0, 0, 0, 0, 0, 1]);
  expect(calls[5]).toMatchObject([GAVE_PLACE]);
  // What the agent had sent before it heard of that is dropped.
  agent.say(smallResult(6));
  expect(calls[5]).toHaveLength(1);
});

test('no call gives its place to a principal that would then have more than its own', () => {
  const agent = connect({ maxInflight: 5 });
  callsOf(agent, 'aaabb');
  expect(agent.session.makePlace('a')).toBe(false);
  expect(agent.session.makePlace('b')).toBe(false);
  expect(agent.session.makePlace('c')).toBe(true);
  callsOf(agent, 'c');
  expect(agent.session.makePlace('d')).toBe(true);
  callsOf(agent, 'd');
  // Each has one or two: whoever is cancelled would come back for the place.
  expect(agent.session.makePlace('e')).toBe(true);
  callsOf(agent, 'e');
  for (const principal of 'abcdef') expect(agent.session.makePlace(principal)).toBe(false);
});

test('a call whose answer has begun keeps its place', () => {
  const agent = connect({ maxInflight: 3 });
  const calls = callsOf(agent, 'aaa');
  agent.say(resultHead(3, 100, Buffer.alloc(10)));
  expect(agent.session.makePlace('b')).toBe(true);
  expect(calls.map((outcomes) => outcomes.length)).toEqual([0, 1, 0]);
});

test('a session that takes no calls makes no place', () => {
  const agent = connect({ maxInflight: 3 });
  callsOf(agent, 'aaa');
  agent.say({ type: 'go_away', reason: 'leaving' });
  expect(agent.session.makePlace('b')).toBe(false);
});

test('in any order of calls, answers and cancellations each call is settled once, and equals keep their places', () => {
  const step = fc.record({
    do: fc.constantFrom('call', 'call', 'call', 'answer', 'cancel'),
    who: fc.constantFrom('a', 'a', 'a', 'b', 'c'),
    pick: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60 }), (maxInflight, steps) => {
      const agent = connect({ maxInflight });
      const calls: { who: string; settled: number; isOpen: boolean; cancel: () => void }[] = [];
      const open = (who?: string): typeof calls =>
        calls.filter((call) => call.isOpen && (who === undefined || call.who === who));
      for (const { do: what, who, pick } of steps) {
        const picked = open()[pick % Math.max(1, open().length)];
        if (what === 'call') {
          const before = open(who).length;
          const others = ['a', 'b', 'c'].filter((other) => other !== who);
          const most = Math.max(...others.map((other) => open(other).length));
          const isFull = !agent.session.available;
          const hasPlace = !isFull || agent.session.makePlace(who);
          expect(hasPlace).toBe(!isFull || most >= before + 2);
          if (!hasPlace) continue;
          const made = { who, settled: 0, isOpen: true, cancel: () => {} };
          made.cancel = agent.session.call(request(undefined, 'get', who), () => {
            made.settled += 1;
            made.isOpen = false;
          });
          calls.push(made);
        } else if (picked !== undefined && what === 'answer') {
          agent.say(smallResult(calls.indexOf(picked) + 1));
        } else if (picked !== undefined) {
          picked.cancel();
          picked.isOpen = false;
        }
        expect(agent.session.inFlight).toBe(open().length);
        expect(agent.session.inFlight).toBeLessThanOrEqual(maxInflight);
      }
      agent.lose();
      expect(calls.filter(({ settled }) => settled > 1)).toEqual([]);
      expect(open()).toEqual([]);
      opened.splice(opened.indexOf(agent), 1);
    }),
    { numRuns: 200 },
  );
});

test('I52: without the feature, what belongs to it closes the link', () => {
  const telling = connect();
  telling.say({ type: 'databases', databases: [] });
  const answering = connect();
  call(answering);
  answering.say({ type: 'error', id: 1, code: 'AGENT_DATABASE_UNAVAILABLE', message: '', notStarted: true });
  expect([telling.closedWith(), answering.closedWith()]).toEqual([
    CLOSE.protocol_error,
    CLOSE.protocol_error,
  ]);
  expect(telling.session.databases).toBeUndefined();
});

test('an agent with the feature tells of its databases, and what it told last counts', () => {
  const agent = agentByHand(createResultBudget(1), 1, { features: ['databases'] });
  opened.push(agent);
  const told: unknown[] = [];
  agent.session.onDatabases((databases) => told.push(databases));
  expect(agent.session.databases).toEqual([]);
  const away = [{ name: 'shop', state: 'away' }] as const;
  const ready = [{ name: 'shop', state: 'ready' }] as const;
  agent.say({ type: 'databases', databases: away }, { type: 'databases', databases: ready });
  expect(agent.session.databases).toEqual(ready);
  expect(told).toEqual([away, ready]);
});

test('I53: a cursor that comes before its result belongs to it', () => {
  const agent = agentByHand(createResultBudget(1), 2, { features: ['cursor'] });
  opened.push(agent);
  const [first, second] = [call(agent), call(agent)];
  agent.say({ type: 'cursor', id: 2, cursor: 'YQ' }, smallResult(1), smallResult(2));
  expect(first.outcomes[0]).not.toHaveProperty('cursor');
  expect(second.outcomes).toMatchObject([{ kind: 'result', cursor: 'YQ' }]);
  // The call may have been cancelled meanwhile.
  const third = call(agent);
  third.cancel();
  agent.say({ type: 'cursor', id: 3, cursor: 'YQ' });
  expect(agent.closedWith()).toBeUndefined();
});

test.each<[what: string, frames: readonly Frame[], features?: readonly string[]]>([
  ['without the feature', [{ type: 'cursor', id: 1, cursor: 'a' }], []],
  [
    'twice',
    [
      { type: 'cursor', id: 1, cursor: 'a' },
      { type: 'cursor', id: 1, cursor: 'a' },
    ],
  ],
  ['of a call that was never made', [{ type: 'cursor', id: 9, cursor: 'a' }]],
  [
    'after its result has begun',
    [resultHead(1, 200_000, Buffer.alloc(10)), { type: 'cursor', id: 1, cursor: 'a' }],
  ],
  ['before an error', [{ type: 'cursor', id: 1, cursor: 'a' }, busy(1)]],
])('I53: a cursor %s closes the link', (_what, frames, features = ['cursor']) => {
  const agent = agentByHand(createResultBudget(RESULT_MAX_BYTES), 1, { features });
  opened.push(agent);
  call(agent);
  for (const frame of frames) agent.say(frame);
  expect(agent.closedWith()).toBe(CLOSE.protocol_error);
});
