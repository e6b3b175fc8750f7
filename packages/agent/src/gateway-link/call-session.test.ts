import {
  CLOSE,
  createLink,
  decodeMessage,
  encodeFrame,
  ERROR_MESSAGE_MAX_BYTES,
  INITIAL_CREDIT_BYTES,
  PARAMS_MAX_BYTES,
  RESULT_MAX_BYTES,
  type Frame,
  type Link,
} from '@svc/protocol';
import { afterEach, expect, test } from 'vitest';
import type { CallOutcome, HandleCall, IncomingCall } from '../calls/handle-call.ts';
import { createCallSession, type CallSession, type LinkLoad } from './call-session.ts';

/** A call that reached the agent and waits for the test to answer it. */
interface Arrived {
  readonly call: IncomingCall;
  answer(outcome: CallOutcome): void;
}

/** A real session on a real link; its gateway is the test. */
interface GatewayByHand {
  readonly session: CallSession;
  readonly link: Link;
  readonly received: Frame[];
  readonly arrived: Arrived[];
  readonly goAways: () => number;
  readonly closedWith: () => number | undefined;
  say(...frames: Frame[]): void;
  lose(): void;
}

const opened: GatewayByHand[] = [];
afterEach(() => {
  for (const gateway of opened.splice(0)) gateway.lose();
});

/** `reads` false: a gateway whose connection takes nothing, as when its reading has stopped. */
function connect(
  maxInflight = 100,
  reads = true,
  loads: Set<LinkLoad> = new Set(),
  hasCursors = true,
): GatewayByHand {
  const received: Frame[] = [];
  const arrived: Arrived[] = [];
  let goAways = 0;
  let closedWith: number | undefined;
  const handle: HandleCall = (call) =>
    new Promise((resolve) => {
      arrived.push({ call, answer: resolve });
    });
  const link = createLink({
    version: 2,
    socket: {
      send(message, sent) {
        received.push(...decodeMessage(Buffer.from(message)));
        if (reads) setImmediate(sent);
      },
      close(code) {
        closedWith = code;
        setImmediate(() => link.socketClosed('closed'));
      },
      terminate: () => {},
    },
    onFrame: (frame) => session.receive(frame),
    onEnd: () => session.ended(),
    now: () => performance.now(),
    random: () => 0.5,
  });
  const session = createCallSession({
    link: () => link,
    hasCursors,
    handle,
    maxInflight,
    loads,
    onGoAway: () => goAways++,
  });
  const gateway: GatewayByHand = {
    session,
    link,
    received,
    arrived,
    goAways: () => goAways,
    closedWith: () => closedWith,
    say: (...frames) => link.receive(Buffer.concat(frames.map((frame) => encodeFrame(frame)))),
    lose: () => link.socketClosed('connection lost'),
  };
  opened.push(gateway);
  return gateway;
}

function request(
  id: number,
  params: Uint8Array = Buffer.from('{}'),
  paramsLength: number = params.length,
): Frame {
  const fin = params.length === paramsLength;
  const metadata = { request_id: `r${id}` };
  return { type: 'request', id, capability: 'get', timeoutMs: 1000, metadata, paramsLength, params, fin };
}
const data = (id: number, bytes: Uint8Array, fin: boolean): Frame => ({ type: 'data', id, bytes, fin });

function rows(content: string | Buffer, count = 1): CallOutcome {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return { kind: 'result', rows: bytes, count, truncated: false, release: () => {} };
}
const FAILED: CallOutcome = {
  kind: 'error',
  code: 'AGENT_QUERY_FAILED',
  message: 'the query could not be completed',
  notStarted: false,
};

/** Lets what was answered become frames, and these leave. */
async function settled(gateway: GatewayByHand): Promise<void> {
  await turn();
  await gateway.link.sendQueue.drained();
}

async function turn(): Promise<void> {
  await new Promise(setImmediate);
}

test('a call is handed over as it was sent and answered under its id', async () => {
  const gateway = connect();
  gateway.say(request(3, Buffer.from('{"id":1}')), request(4));
  expect(gateway.arrived[0]?.call).toMatchObject({
    capability: 'get',
    timeoutMs: 1000,
    metadata: { request_id: 'r3' },
    params: Buffer.from('{"id":1}'),
  });
  expect(gateway.session.inFlight).toBe(2);
  gateway.arrived[1]?.answer({
    kind: 'result',
    rows: Buffer.from('[{"a":1}]'),
    count: 1,
    truncated: true,
    release: () => {},
  });
  gateway.arrived[0]?.answer(FAILED);
  await settled(gateway);
  expect(gateway.received).toMatchObject([
    { type: 'error', id: 3, code: 'AGENT_QUERY_FAILED', notStarted: false },
    { type: 'result', id: 4, count: 1, truncated: true, rows: Buffer.from('[{"a":1}]'), fin: true },
  ]);
  expect(gateway.session.inFlight).toBe(0);
});

test.each([
  ['the same id again', 5],
  ['a lower one', 4],
])('I34: %s closes with 4400', (_title, id) => {
  const gateway = connect();
  gateway.say(request(5), request(id));
  expect(gateway.closedWith()).toBe(CLOSE.protocol_error);
  expect(gateway.arrived).toHaveLength(1);
});

test('I34: the id of a call that is over is not free again', async () => {
  const gateway = connect();
  gateway.say(request(5));
  gateway.arrived[0]?.answer(rows('[]'));
  await settled(gateway);
  gateway.say(request(5));
  expect(gateway.closedWith()).toBe(CLOSE.protocol_error);
});

test.each<[string, Frame]>([
  ['data', data(2, Buffer.from('x'), true)],
  ['a cancel', { type: 'cancel', id: 2 }],
  ['credit', { type: 'credit', id: 2, bytes: 1 }],
])('I34: %s for a call that was never made closes with 4400', (_title, frame) => {
  const gateway = connect();
  gateway.say(request(1), frame);
  expect(gateway.closedWith()).toBe(CLOSE.protocol_error);
});

test.each<[string, Frame]>([
  [
    'a result',
    { type: 'result', id: 1, count: 0, truncated: false, rowsLength: 0, rows: Buffer.alloc(0), fin: true },
  ],
  ['an error', { type: 'error', id: 1, code: 'AGENT_BUSY', message: '', notStarted: true }],
])('%s, which only an agent sends, closes with 4400', (_title, frame) => {
  const gateway = connect();
  gateway.say(request(1), frame);
  expect(gateway.closedWith()).toBe(CLOSE.protocol_error);
});

test('I33: a cancel aborts the call, and nothing is sent for it whatever its outcome', async () => {
  const gateway = connect();
  gateway.say(request(1), request(2));
  const [first, second] = gateway.arrived;
  gateway.say({ type: 'cancel', id: 1 });
  expect(first?.call.signal.aborted).toBe(true);
  expect(second?.call.signal.aborted).toBe(false);
  expect(gateway.session.inFlight).toBe(1);
  first?.answer(rows('[]'));
  second?.answer(rows('[]'));
  await settled(gateway);
  expect(gateway.received).toMatchObject([{ type: 'result', id: 2 }]);
});

test('I33: a late cancel, or a second one, is ignored', async () => {
  const gateway = connect();
  gateway.say(request(1));
  gateway.arrived[0]?.answer(rows('[]'));
  await settled(gateway);
  gateway.say({ type: 'cancel', id: 1 }, { type: 'cancel', id: 1 });
  await settled(gateway);
  expect(gateway.closedWith()).toBeUndefined();
  expect(gateway.arrived[0]?.call.signal.aborted).toBe(false);
  expect(gateway.received).toHaveLength(1);
});

test('I33: a cancel stops an answer that is under way', async () => {
  const gateway = connect();
  gateway.say(request(1));
  gateway.arrived[0]?.answer(rows('x'.repeat(500_000)));
  await expect.poll(() => bytesOf(gateway, 1), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  gateway.say({ type: 'cancel', id: 1 }, { type: 'credit', id: 1, bytes: 400_000 });
  await settled(gateway);
  expect(bytesOf(gateway, 1)).toBe(INITIAL_CREDIT_BYTES);
  expect(gateway.link.sendQueue.queuedBytes).toBe(0);
});

test('a large answer follows as the gateway takes it', async () => {
  const gateway = connect();
  gateway.say(request(1));
  gateway.arrived[0]?.answer(rows('x'.repeat(500_000)));
  await expect.poll(() => bytesOf(gateway, 1), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  gateway.say({ type: 'credit', id: 1, bytes: 400_000 });
  await settled(gateway);
  expect(bytesOf(gateway, 1)).toBe(500_000);
});

function bytesOf(gateway: GatewayByHand, id: number): number {
  let bytes = 0;
  for (const frame of gateway.received) {
    if (frame.type === 'result' && frame.id === id) bytes += frame.rows.length;
    if (frame.type === 'data' && frame.id === id) bytes += frame.bytes.length;
  }
  return bytes;
}

test('parameters in pieces are whole again before the call begins, and credit for the rest is given at once', async () => {
  const gateway = connect();
  const params = Buffer.alloc(300_000, '{"a":"b"}');
  gateway.say(request(1, params.subarray(0, 1000), params.length));
  await settled(gateway);
  expect(gateway.received).toEqual([{ type: 'credit', id: 1, bytes: params.length - INITIAL_CREDIT_BYTES }]);
  for (let at = 1000; at < params.length; at += 60_000) {
    expect(gateway.arrived).toHaveLength(0);
    const piece = params.subarray(at, at + 60_000);
    gateway.say(data(1, piece, at + piece.length === params.length));
  }
  expect(params.equals(gateway.arrived[0]?.call.params ?? Buffer.alloc(0))).toBe(true);
});

test('parameters within the first window need no credit', async () => {
  const gateway = connect();
  gateway.say(request(1, Buffer.from('{'), 2), data(1, Buffer.from('}'), true));
  await settled(gateway);
  expect(gateway.arrived).toHaveLength(1);
  expect(gateway.received).toEqual([]);
});

test('I36: calls beyond max_inflight are refused as not started, and their parameters ignored', async () => {
  const gateway = connect(1);
  gateway.say(request(1), request(2, Buffer.from('{'), 2));
  gateway.say(data(2, Buffer.from('}'), true));
  await settled(gateway);
  expect(gateway.received).toMatchObject([{ type: 'error', id: 2, code: 'AGENT_BUSY', notStarted: true }]);
  expect(gateway.arrived).toHaveLength(1);
  expect(gateway.closedWith()).toBeUndefined();
  // A slot is free again when the first is answered, or cancelled.
  gateway.arrived[0]?.answer(rows('[]'));
  await settled(gateway);
  gateway.say(request(3), { type: 'cancel', id: 3 }, request(4));
  expect(gateway.arrived).toHaveLength(3);
});

test('I36: parameters beyond 64 MiB in all are refused as not started; what was cancelled counts no more', async () => {
  const gateway = connect();
  const first = Buffer.from('{');
  gateway.say(request(1, first, PARAMS_MAX_BYTES - 1000), request(2, first, 1001), request(3, first, 1003));
  await settled(gateway);
  const refusals = (): unknown[] => gateway.received.filter((frame) => frame.type === 'error');
  expect(refusals()).toMatchObject([{ id: 3, code: 'AGENT_BUSY', notStarted: true }]);
  gateway.say({ type: 'cancel', id: 1 }, request(4, first, PARAMS_MAX_BYTES - 1000));
  await settled(gateway);
  expect(refusals()).toHaveLength(1);
  // Bytes that arrive free memory, too.
  gateway.say(data(4, Buffer.alloc(2000), false), request(5, first, 2000));
  await settled(gateway);
  expect(refusals()).toHaveLength(1);
  expect(gateway.session.inFlight).toBe(3);
});

test('I36: a call counts until its answer has left to the last piece', async () => {
  const gateway = connect(1);
  gateway.say(request(1));
  gateway.arrived[0]?.answer(rows('x'.repeat(200_000)));
  await expect.poll(() => bytesOf(gateway, 1), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  gateway.say(request(2));
  expect(gateway.arrived).toHaveLength(1);
  gateway.say({ type: 'credit', id: 1, bytes: 200_000 });
  await settled(gateway);
  expect(gateway.received).toContainEqual(
    expect.objectContaining({ type: 'error', id: 2, code: 'AGENT_BUSY', notStarted: true }),
  );
  expect(bytesOf(gateway, 1)).toBe(200_000);
  gateway.say(request(3));
  expect(gateway.arrived).toHaveLength(2);
});

test('I49: parameters of several links share 64 MiB; what a lost link held is free again', async () => {
  const loads = new Set<LinkLoad>();
  const [one, other] = [connect(10, true, loads), connect(10, true, loads)];
  const first = Buffer.from('{');
  one.say(request(1, first, PARAMS_MAX_BYTES));
  other.say(request(1, first, 2000));
  await settled(other);
  expect(other.received).toMatchObject([{ type: 'error', id: 1, code: 'AGENT_BUSY', notStarted: true }]);
  one.lose();
  other.say(request(2, first, PARAMS_MAX_BYTES));
  await settled(other);
  expect(other.session.inFlight).toBe(1);
  expect(loads.size).toBe(1);
});

test('I49: links together take no more than twice the calls of one, those that wait to leave included', async () => {
  const loads = new Set<LinkLoad>();
  const links = [connect(2, true, loads), connect(2, true, loads), connect(2, true, loads)];
  for (const link of links) link.say(request(1), request(2));
  for (const link of links) await settled(link);
  expect(links.map(({ arrived }) => arrived.length)).toEqual([2, 2, 0]);
  expect(links[2]?.received).toMatchObject([{ code: 'AGENT_BUSY' }, { code: 'AGENT_BUSY' }]);
  links[0]?.arrived[0]?.answer(rows('[]'));
  for (const link of links) await settled(link);
  links[2]?.say(request(3));
  expect(links[2]?.arrived.length).toBe(1);
});

test('an answer is released once, when it has left, is cancelled, comes too late, or the link is lost', async () => {
  const gateway = connect();
  const released: number[] = [];
  const answer = (id: number, length: number): void =>
    gateway.arrived[id - 1]?.answer({
      kind: 'result',
      rows: Buffer.alloc(length),
      count: 1,
      truncated: false,
      release: () => released.push(id),
    });
  gateway.say(request(1), request(2), request(3), request(4));
  for (const id of [1, 2, 4]) answer(id, 2 * INITIAL_CREDIT_BYTES);
  await expect.poll(() => bytesOf(gateway, 4), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  expect(released).toEqual([]);
  gateway.say({ type: 'credit', id: 1, bytes: INITIAL_CREDIT_BYTES });
  await expect.poll(() => released, { interval: 5 }).toEqual([1]);
  gateway.say({ type: 'cancel', id: 2 }, { type: 'cancel', id: 3 });
  answer(3, 1);
  await turn();
  expect(released).toEqual([1, 2, 3]);
  gateway.link.end(CLOSE.going_away, 'over');
  await expect.poll(() => released, { interval: 5 }).toEqual([1, 2, 3, 4]);
});

test('I36: while answers of more than 64 MiB wait, calls are refused as not started', async () => {
  const gateway = connect();
  gateway.say(request(1), request(2), request(3));
  gateway.arrived[0]?.answer(rows(Buffer.alloc(RESULT_MAX_BYTES)));
  await turn();
  gateway.say(request(4));
  expect(gateway.arrived).toHaveLength(4);
  gateway.arrived[1]?.answer(rows(Buffer.alloc(2 * INITIAL_CREDIT_BYTES)));
  await expect.poll(() => bytesOf(gateway, 2), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  gateway.arrived[2]?.answer(rows(Buffer.alloc(2 * INITIAL_CREDIT_BYTES)));
  await expect.poll(() => bytesOf(gateway, 3), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  gateway.say(request(5));
  expect(gateway.arrived).toHaveLength(4);
  gateway.say({ type: 'cancel', id: 1 }, request(6));
  expect(gateway.arrived).toHaveLength(5);
  expect(gateway.closedWith()).toBeUndefined();
});

test('I38: a gateway that sends calls and never reads is disconnected before the answers fill the memory', async () => {
  const gateway = connect(10, false);
  const pending = (): number => gateway.link.sendQueue.queuedControls;
  let id = 0;
  for (let most = 0; gateway.closedWith() === undefined && id < 20_000; most = pending()) {
    gateway.say(...Array.from({ length: 100 }, () => request(++id)));
    await turn();
    expect(most).toBeLessThan(5000);
  }
  expect(gateway.closedWith()).toBe(CLOSE.protocol_error);
  expect(gateway.arrived.map(({ call }) => call.signal.aborted)).toEqual(
    Array.from({ length: 10 }, () => true),
  );
});

test('I35: the loss of the link aborts every call, those still arriving too, and nothing is sent any more', async () => {
  const gateway = connect();
  gateway.say(request(1), request(2), request(3, Buffer.from('{'), 2));
  gateway.lose();
  expect(gateway.arrived.map(({ call }) => call.signal.aborted)).toEqual([true, true]);
  expect(gateway.session.inFlight).toBe(0);
  gateway.arrived[0]?.answer(rows('[]'));
  await settled(gateway);
  expect(gateway.received).toEqual([]);
});

test('I37: idle means that every answer has left, to the last piece', async () => {
  const gateway = connect();
  gateway.say(request(1));
  let idle = false;
  const waiting = gateway.session.idle().then(() => {
    idle = true;
  });
  await new Promise(setImmediate);
  expect(idle).toBe(false);
  gateway.arrived[0]?.answer(rows('x'.repeat(200_000)));
  await expect.poll(() => bytesOf(gateway, 1), { interval: 5 }).toBe(INITIAL_CREDIT_BYTES);
  expect(idle).toBe(false);
  gateway.say({ type: 'credit', id: 1, bytes: 200_000 });
  await waiting;
  expect(bytesOf(gateway, 1)).toBe(200_000);
});

test.each(['cancel', 'loss'] as const)('I37: an agent whose last call ends by %s is idle', async (end) => {
  const gateway = connect();
  gateway.say(request(1));
  const idle = gateway.session.idle();
  if (end === 'cancel') gateway.say({ type: 'cancel', id: 1 });
  else gateway.lose();
  await expect(idle).resolves.toBeUndefined();
});

test('a message longer than a frame may carry is cut between characters', async () => {
  const gateway = connect();
  gateway.say(request(1));
  gateway.arrived[0]?.answer({ ...FAILED, message: `a${'😀'.repeat(10_000)}` });
  await settled(gateway);
  const [frame] = gateway.received;
  if (frame?.type !== 'error') throw new Error('no error frame');
  expect(Buffer.byteLength(frame.message)).toBeLessThanOrEqual(ERROR_MESSAGE_MAX_BYTES);
  expect(/^a(?:😀)+$/u.test(frame.message)).toBe(true);
});

test('go-away is passed on', () => {
  const gateway = connect();
  gateway.say({ type: 'go_away', reason: 'leaving' });
  expect(gateway.goAways()).toBe(1);
  gateway.say(request(1));
  expect(gateway.arrived).toHaveLength(1);
});

test.each([true, false])(
  'I53: a cursor leaves before its result if the gateway takes cursors: %s',
  async (takes) => {
    const gateway = connect(100, true, new Set(), takes);
    gateway.say(request(1), request(2));
    for (const arrived of gateway.arrived)
      arrived.answer({
        kind: 'result',
        rows: Buffer.from('[{"a":1}]'),
        count: 1,
        truncated: true,
        cursor: 'YQ',
        release: () => {},
      });
    await settled(gateway);
    const ofFirst = gateway.received.filter((frame) => 'id' in frame && frame.id === 1);
    expect(ofFirst.map(({ type }) => type)).toEqual(takes ? ['cursor', 'result'] : ['result']);
  },
);
