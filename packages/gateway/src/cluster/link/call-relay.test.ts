import {
  createLink,
  INITIAL_CREDIT_BYTES,
  joinPieces,
  type Link,
  type LinkFrame,
  type LinkSocket,
} from '@svc/protocol';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { agentByHand, data, request, resultHead, smallResult } from '../../agents/agent-by-hand.testing.ts';
import { createSession } from '../../agents/agent-session.ts';
import type { AgentOutcome, CallableLink } from '../../agents/callable-link.ts';
import { createResultBudget } from '../../agents/result-budget.ts';
import { createBodyBudget } from '../../http/request/json-body.ts';
import { createCallRelay } from './call-relay.ts';
import { createRemoteLink } from './remote-link.ts';

const BUDGET_BYTES = 700_000;
const PARAMS_MAX_BYTES = 500_000;
const MANIFEST = [{ name: 'get', exposed: true, timeout_ms: 1000 }];

// What may happen, in any order; numbers pick among the calls made so far.
type Step =
  | Answer
  | { readonly do: 'call'; readonly paramsBytes: number }
  | { readonly do: 'cancel' | 'release'; readonly pick: number }
  | { readonly do: 'deliver'; readonly toAgent: number; readonly toCaller: number }
  | { readonly do: 'lose_agent' | 'lose_sibling' };

/** What an agent may do about one of its calls. */
type Answer =
  | { readonly do: 'small' | 'error'; readonly pick: number }
  | { readonly do: 'begin' | 'piece'; readonly pick: number; readonly bytes: number };

const pick = fc.nat(30);
const deliver: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('deliver'),
  toAgent: fc.nat(6),
  toCaller: fc.nat(6),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: deliver },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      paramsBytes: fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: 20, max: 200 }) },
        { weight: 1, arbitrary: fc.integer({ min: 20, max: 300_000 }) },
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('small', 'error', 'cancel', 'release'), pick }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('begin', 'piece', 'piece'),
      pick,
      bytes: fc.integer({ min: 1, max: 400_000 }),
    }),
  },
);

/** Most runs lose nothing, so that calls also come to their end. */
const loss: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom([{ do: 'lose_agent' as const }], [{ do: 'lose_sibling' as const }]),
  },
);

const history: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(step, { minLength: 5, maxLength: 80, size: 'max' }),
    loss,
    fc.array(step, { maxLength: 20 }),
  )
  .map((parts) => parts.flat());

interface Made {
  readonly outcomes: AgentOutcome[];
  readonly cancel: () => void;
  cancelled: boolean;
  released: boolean;
}

/** A call as the agent has it: all bytes of its parameters and of its result are its number. */
interface AtAgent {
  readonly id: number;
  readonly tag: number;
  credit: number;
  left: number;
  state: 'arriving' | 'arrived' | 'begun' | 'over';
  missing: number;
}

/** One end of a link between two workers, whose messages wait until a step delivers them. */
function wire(): { readonly socket: LinkSocket; readonly messages: Buffer[] } {
  const messages: Buffer[] = [];
  const socket = {
    send(message: Buffer, sent: () => void) {
      messages.push(Buffer.from(message));
      setImmediate(sent);
    },
    close: () => {},
    terminate: () => {},
  };
  return { socket, messages };
}

function world() {
  const [nearWire, farWire] = [wire(), wire()];
  const clocks = { now: () => performance.now(), random: () => 0.5, version: 2 as const };
  const budgets = [createResultBudget(BUDGET_BYTES), createResultBudget(BUDGET_BYTES)] as const;
  const arriving = createBodyBudget(PARAMS_MAX_BYTES);
  const atAgent: AtAgent[] = [];
  let agentLost = false;
  const ends: string[] = [];

  function onAgentFrame(frame: LinkFrame): void {
    if (frame.type === 'request') {
      const [tag = 0] = frame.params;
      expect(isAll(tag, frame.params)).toBe(true);
      expect(Object.keys(frame.metadata)).toEqual(['request_id']);
      const missing = frame.paramsLength - frame.params.length;
      const state = missing === 0 ? 'arrived' : 'arriving';
      atAgent.push({ id: frame.id, tag, credit: INITIAL_CREDIT_BYTES, left: 0, state, missing });
      if (missing > 0) setImmediate(() => agent.say({ type: 'credit', id: frame.id, bytes: missing }));
      return;
    }
    const call = atAgent.find(({ id }) => 'id' in frame && frame.id === id);
    if (call === undefined) return;
    if (frame.type === 'credit') call.credit += frame.bytes;
    if (frame.type === 'cancel') call.state = 'over';
    if (frame.type === 'data') {
      expect(isAll(call.tag, frame.bytes)).toBe(true);
      call.missing -= frame.bytes.length;
      if (call.missing === 0 && call.state === 'arriving') call.state = 'arrived';
    }
  }

  const agent = agentByHand(budgets[1], 1000, { onFrame: onAgentFrame });
  agent.session.setDescription({ manifest: MANIFEST });
  // Ids at the agent are others than those between the workers.
  for (let count = 0; count < 3; count++) agent.session.call(request(Buffer.of(0)), () => {})();
  const far: Link = createLink({
    ...clocks,
    socket: farWire.socket,
    onFrame: (frame) => relay.receive(frame),
    onEnd(reason) {
      ends.push(reason);
      relay.ended();
    },
  });
  const relay = createCallRelay({
    link: () => far,
    sessionOf: (connId) => (connId === 'conn' && !agentLost ? agent.session : undefined),
    arriving,
    now: clocks.now,
  });
  const near: Link = createLink({
    ...clocks,
    socket: nearWire.socket,
    onFrame: (frame) => calls.receive(frame),
    onEnd(reason) {
      ends.push(reason);
      calls.ended();
    },
  });
  const calls = createSession({
    connId: 'worker',
    instanceId: 'worker',
    manifestSha256: '',
    features: [],
    protocolVersion: 2,
    identity: undefined,
    maxInflight: Infinity,
    link: () => near,
    budget: budgets[0],
    onDraining: () => {},
  });
  const identity = {
    service: 'default',
    keyId: 'key',
    instanceId: 'one',
    bytes: 0,
    digest: 'd',
    keepsSeveral: true,
  };
  const listed = {
    ...identity,
    connId: 'conn',
    protocolVersion: 2 as const,
    identity: undefined,
    databases: undefined,
  };
  const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} };
  const remote: CallableLink = createRemoteLink(
    listed,
    { openapi, manifest: MANIFEST },
    () => calls,
    () => {},
  );
  return {
    remote,
    agent,
    atAgent,
    budgets,
    arriving,
    ends,
    /** What was sent in this turn leaves first. */
    async deliver(toAgent: number, toCaller: number): Promise<void> {
      await new Promise(setImmediate);
      for (const message of nearWire.messages.splice(0, toAgent)) far.receive(message);
      for (const message of farWire.messages.splice(0, toCaller)) near.receive(message);
      await new Promise(setImmediate);
    },
    loseAgent() {
      if (agentLost) return;
      agentLost = true;
      agent.lose();
    },
    loseSibling() {
      near.socketClosed('lost');
      far.socketClosed('lost');
    },
  };
}

const isAll = (tag: number, bytes: Uint8Array): boolean =>
  Buffer.compare(bytes, Buffer.alloc(bytes.length, tag)) === 0;

const isOpen = ({ outcomes, cancelled }: Made): boolean => !cancelled && outcomes.length === 0;

function take(made: Made): void {
  if (made.released) return;
  for (const outcome of made.outcomes) if (outcome.kind === 'result') outcome.release();
  made.released = made.outcomes.length > 0;
}

test('whatever happens in whatever order, each call that crosses settles once, with its own bytes, and gives all memory back', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const both = world();
      const { remote, agent, atAgent, budgets, arriving, ends } = both;
      const all: Made[] = [];
      let expectedEnds = 0;

      function makeCall(paramsBytes: number): void {
        const tag = all.length + 1;
        const outcomes: AgentOutcome[] = [];
        const cancel = remote.call(request(Buffer.alloc(paramsBytes, tag)), (outcome) => {
          outcomes.push(outcome);
          if (outcome.kind === 'result') {
            expect(isAll(tag, joinPieces(outcome.rows))).toBe(true);
          }
        });
        all.push({ outcomes, cancel, cancelled: false, released: false });
      }

      function answer(call: AtAgent, one: Answer): void {
        switch (one.do) {
          case 'small':
            if (call.state === 'begun') return;
            agent.say(smallResult(call.id, String.fromCharCode(call.tag), 1));
            break;
          case 'error':
            agent.say({
              type: 'error',
              id: call.id,
              code: 'AGENT_QUERY_FAILED',
              message: 'x',
              notStarted: false,
            });
            break;
          case 'begin':
            if (call.state === 'begun') return;
            call.left = one.bytes;
            call.state = 'begun';
            agent.say(resultHead(call.id, one.bytes));
            return;
          case 'piece': {
            if (call.state !== 'begun') return;
            const size = Math.min(one.bytes, 60_000, call.left, call.credit);
            if (size === 0) return;
            call.left -= size;
            call.credit -= size;
            agent.say(data(call.id, Buffer.alloc(size, call.tag), call.left === 0));
            if (call.left > 0) return;
          }
        }
        call.state = 'over';
      }

      for (const one of steps) {
        const made = 'pick' in one ? all[one.pick % all.length] : undefined;
        switch (one.do) {
          case 'call':
            makeCall(one.paramsBytes);
            break;
          case 'cancel':
            if (made === undefined || made.outcomes.length > 0) break;
            made.cancelled = true;
            made.cancel();
            break;
          case 'release':
            if (made !== undefined) take(made);
            break;
          case 'deliver':
            await both.deliver(one.toAgent, one.toCaller);
            break;
          case 'lose_agent':
            both.loseAgent();
            break;
          case 'lose_sibling':
            expectedEnds = 2;
            both.loseSibling();
            break;
          default: {
            const open = atAgent.filter(({ state }) => state !== 'over' && state !== 'arriving');
            const call = open[one.pick % open.length];
            if (call !== undefined) answer(call, one);
          }
        }
      }
      // Nothing was against the rules.
      expect(ends).toHaveLength(expectedEnds);
      expect(agent.closedWith()).toBeUndefined();
      const isWhole = !steps.some((one) => one.do === 'lose_agent' || one.do === 'lose_sibling');
      for (let turns = 0; turns < 300 && all.some(isOpen); turns++) {
        await both.deliver(1000, 1000);
        for (const made of all) take(made);
        const open = atAgent.filter(({ state }) => state === 'arrived' || state === 'begun');
        for (const call of open)
          answer(call, { do: call.state === 'begun' ? 'piece' : 'begin', pick: 0, bytes: 300_000 });
        if (!isWhole && turns > 3) break;
      }
      await both.deliver(1000, 1000);
      if (isWhole) {
        expect(all.filter(isOpen)).toEqual([]);
        const cancelled = atAgent.filter(({ tag }) => all[tag - 1]?.cancelled === true);
        expect(cancelled.map(({ state }) => state)).toEqual(cancelled.map(() => 'over'));
      }
      both.loseAgent();
      for (let turns = 0; turns < 5; turns++) await both.deliver(1000, 1000);
      both.loseSibling();
      for (const made of all) take(made);
      for (const { outcomes, cancelled } of all) expect(outcomes).toHaveLength(cancelled ? 0 : 1);
      expect(budgets.map(({ reservedBytes }) => reservedBytes)).toEqual([0, 0]);
      expect([remote.inFlight, agent.session.inFlight]).toEqual([0, 0]);
      expect(arriving.take(PARAMS_MAX_BYTES)).toBe(true);
    }),
    { numRuns: 40 },
  );
});
