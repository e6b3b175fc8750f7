import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CLOSE, ProtocolError } from '../rules/close-code.ts';
import { joinPieces, receiveBody, type Body } from '../frames/body.ts';
import { decodeMessage } from '../frames/decode.ts';
import { encodeFrame } from '../frames/encode.ts';
import type { Frame } from '../frames/frame.ts';
import { INITIAL_CREDIT_BYTES } from '../rules/limits.ts';
import { closeReason, createLink, type Link, type LinkFrame } from './link.ts';

interface End {
  link: Link;
  readonly frames: LinkFrame[];
  readonly ends: string[];
  /** Resolves at the first of them. */
  readonly ended: Promise<void>;
  readonly closes: number[];
  terminated: number;
  onFrame: (frame: LinkFrame) => void;
}

interface Pair {
  readonly gateway: End;
  readonly agent: End;
  /** From now on everything that is sent leaves and nothing arrives. */
  blackHole: boolean;
  /** The other side does not answer the closing handshake. */
  ignoresClose: boolean;
}

/** Two links joined in memory: what one sends, the other receives one turn later. */
function connect(now: () => number): Pair {
  const makeEnd = (): End => {
    let markEnded = (): void => {};
    const end: Omit<End, 'link'> = {
      frames: [],
      ends: [],
      ended: new Promise((resolve) => {
        markEnded = resolve;
      }),
      closes: [],
      terminated: 0,
      onFrame: (frame) => end.frames.push(frame),
    };
    const bothClosed = (reason: string): void => {
      setImmediate(() => {
        pair.gateway.link.socketClosed(reason);
        pair.agent.link.socketClosed(reason);
      });
    };
    const link = createLink({
      version: 2,
      socket: {
        send(message, sent) {
          setImmediate(() => {
            sent();
            const other = pair.gateway.link === link ? pair.agent : pair.gateway;
            if (!pair.blackHole) other.link.receive(Buffer.from(message));
          });
        },
        close(code, reason) {
          end.closes.push(code);
          if (!pair.ignoresClose) bothClosed(closeReason(code, reason));
        },
        terminate() {
          end.terminated++;
          bothClosed(closeReason(1006, ''));
        },
      },
      onFrame: (frame) => end.onFrame(frame),
      onEnd(reason) {
        end.ends.push(reason);
        markEnded();
      },
      now,
      random: () => 0.5,
    });
    return Object.assign(end, { link });
  };
  const pair: Pair = { gateway: makeEnd(), agent: makeEnd(), blackHole: false, ignoresClose: false };
  return pair;
}

describe('with a simulated clock', () => {
  let pair: Pair;
  beforeEach(() => {
    // Not the default list: queueMicrotask and nextTick stay real.
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'Date'],
    });
    pair = connect(() => Date.now());
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('I15: two idle ends keep each other alive for an hour', async () => {
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([...pair.gateway.ends, ...pair.agent.ends]).toEqual([]);
  });

  test('I16: what is written into a black hole keeps nobody alive: both ends terminate, each reports it once', async () => {
    await vi.advanceTimersByTimeAsync(60_000);
    pair.blackHole = true;
    const writer = setInterval(() => pair.agent.link.sendQueue.sendControl({ type: 'cancel', id: 1 }), 100);
    await vi.advanceTimersByTimeAsync(28_000);
    clearInterval(writer);
    for (const end of [pair.gateway, pair.agent]) {
      expect(end.ends).toEqual(['the peer fell silent']);
      expect(end.terminated).toBe(1);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test('I17: a peer that does not answer the closing handshake is cut off after a second', async () => {
    pair.ignoresClose = true;
    pair.gateway.link.end(CLOSE.going_away, 'shutting down');
    await vi.advanceTimersByTimeAsync(999);
    expect(pair.gateway.terminated).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(pair.gateway.terminated).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pair.gateway.ends).toEqual(['shutting down']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('I17: a link ends once, whatever comes after, and leaves no timer', async () => {
    pair.gateway.link.end(CLOSE.going_away, 'shutting down');
    pair.gateway.link.end(CLOSE.protocol_error, 'again');
    pair.gateway.link.receive(Buffer.from([0]));
    await vi.advanceTimersByTimeAsync(60_000);
    pair.gateway.link.socketClosed('late');
    expect(pair.gateway.closes).toEqual([CLOSE.going_away]);
    expect(pair.gateway.ends).toEqual(['shutting down']);
    expect(pair.gateway.terminated).toBe(0);
    expect(pair.agent.ends).toEqual(['shutting down (1001)']);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('I15: an answer that lies unread when the timer fires late still counts', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let time = 0;
  const ends: string[] = [];
  const socket = { send: () => {}, close: () => {}, terminate: () => {} };
  const link = createLink({
    version: 2,
    socket,
    onFrame: () => {},
    onEnd: (reason) => ends.push(reason),
    now: () => time,
    random: () => 0.5,
  });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  time = 15_000;
  vi.advanceTimersByTime(15_000);
  await turn();
  // Our event loop stands still from 2.5 s to 10.5 s after the ping; Node runs timers before it reads.
  time = 25_500;
  vi.advanceTimersByTime(10_000);
  link.receive(encodeFrame({ type: 'pong', token: 0 }));
  await turn();
  expect(ends).toEqual([]);
  link.socketClosed('end of test');
  await turn();
  expect(ends).toEqual(['end of test']);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('in real time', () => {
  let pair: Pair;
  beforeEach(() => {
    pair = connect(() => performance.now());
  });
  afterEach(() => {
    pair.gateway.link.socketClosed('end of test');
    pair.agent.link.socketClosed('end of test');
  });

  test('I18: a ping is answered with its token and not passed on', async () => {
    const sent: Frame[] = [];
    await new Promise<void>((resolve) => {
      const link = createLink({
        version: 2,
        socket: {
          send(message) {
            sent.push(...decodeMessage(message));
            link.socketClosed('end of test');
            resolve();
          },
          close: () => {},
          terminate: () => {},
        },
        onFrame: (frame) => expect.unreachable(frame.type),
        onEnd: () => {},
        now: () => performance.now(),
        random: Math.random,
      });
      link.receive(encodeFrame({ type: 'ping', token: 0xdead_beef }));
      link.receive(encodeFrame({ type: 'pong', token: 1 }));
    });
    expect(sent).toEqual([{ type: 'pong', token: 0xdead_beef }]);
  });

  test('I50: a pong waits for what the frames before its ping have begun, and for nothing else', async () => {
    const sent: Frame[] = [];
    let finish = (): void => {};
    const link = createLink({
      version: 2,
      socket: {
        send(message, isSent) {
          sent.push(...decodeMessage(message));
          setImmediate(isSent);
        },
        close: () => {},
        terminate: () => {},
      },
      onFrame: () => {},
      beforePong: () => begun,
      onEnd: () => {},
      now: () => performance.now(),
      random: Math.random,
    });
    let begun: Promise<void> | undefined = new Promise((resolve) => (finish = resolve));
    link.receive(encodeFrame({ type: 'ping', token: 1 }));
    begun = undefined;
    link.receive(encodeFrame({ type: 'ping', token: 2 }));
    await expect.poll(() => sent, { interval: 1 }).toEqual([{ type: 'pong', token: 2 }]);
    finish();
    await expect.poll(() => sent, { interval: 1 }).toHaveLength(2);
    expect(sent[1]).toEqual({ type: 'pong', token: 1 });
    link.socketClosed('end of test');
  });

  test('I50: whoever pings learns when the other end has acted on all before, or that the link is lost', async () => {
    const pair = connect(() => performance.now());
    expect(await pair.agent.link.ping()).toBe(true);
    pair.blackHole = true;
    const lost = pair.agent.link.ping();
    pair.agent.link.socketClosed('end of test');
    pair.gateway.link.socketClosed('end of test');
    expect(await lost).toBe(false);
    expect(await pair.agent.link.ping()).toBe(false);
  });

  test('I6: bodies of any size cross both ways, pieces granted as they arrive', async () => {
    const { gateway, agent } = pair;
    const sizes = [0, 2, 16_384, 131_072, 131_073, 1_000_000];
    const contents = sizes.map((size, at) => Buffer.alloc(size, 0x41 + at));
    echo(agent);
    const answers = collect(gateway, sizes.length);
    for (const [at, params] of contents.entries()) {
      const head = { id: at + 1, capability: 'echo', timeoutMs: 1000, metadata: {} };
      gateway.link.sendQueue.sendBody({ type: 'request', ...head }, params);
    }
    const rows = await answers;
    for (const [at, params] of contents.entries()) {
      expect(Buffer.compare(rows.get(at + 1) ?? Buffer.alloc(1), params)).toBe(0);
    }
    expect(gateway.link.sendQueue.queuedBytes + agent.link.sendQueue.queuedBytes).toBe(0);
  });

  test.each<[string, (pair: Pair) => void, number]>([
    ['a malformed message', ({ gateway }) => gateway.link.receive(Buffer.from([99])), CLOSE.protocol_error],
    ['an empty message', ({ gateway }) => gateway.link.receive(Buffer.alloc(0)), CLOSE.protocol_error],
    [
      'a rule broken above the link',
      ({ gateway }) => {
        gateway.onFrame = () => {
          throw new ProtocolError('no description', CLOSE.bad_description);
        };
        gateway.link.receive(encodeFrame({ type: 'cancel', id: 1 }));
      },
      CLOSE.bad_description,
    ],
  ])('I19: %s closes the link with its code', async (_what, breach, code) => {
    breach(pair);
    await pair.agent.ended;
    expect(pair.gateway.closes).toEqual([code]);
    expect(pair.gateway.ends).toHaveLength(1);
    expect(pair.agent.ends).toEqual([`${pair.gateway.ends[0]} (${code})`]);
  });

  test('I19: nothing after the frame that ended the link is acted upon', () => {
    const { gateway } = pair;
    gateway.onFrame = (frame) => {
      gateway.frames.push(frame);
      gateway.link.end(CLOSE.going_away, 'enough');
    };
    const cancels = [1, 2].map((id) => encodeFrame({ type: 'cancel', id }));
    gateway.link.receive(Buffer.concat(cancels));
    gateway.link.receive(Buffer.concat(cancels));
    expect(gateway.frames).toEqual([{ type: 'cancel', id: 1 }]);
  });

  test('an internal error does not close the link as a breach of the protocol', () => {
    pair.gateway.onFrame = () => {
      throw new TypeError('ours');
    };
    expect(() => pair.gateway.link.receive(encodeFrame({ type: 'cancel', id: 1 }))).toThrow('ours');
    expect(pair.gateway.closes).toEqual([]);
  });
});

test.each([
  [4401, '', 'unauthorized (4401)'],
  [4400, 'body is longer than announced', 'body is longer than announced (4400)'],
  [1006, '', 'connection lost (1006)'],
  [1011, '', 'closed (1011)'],
])('close code %i with reason "%s" reads "%s"', (code, reason, text) => {
  expect(closeReason(code, reason)).toBe(text);
});

/** Answers each request with its own parameters as rows. */
function echo(end: End): void {
  const bodies = new Map<number, Body>();
  end.onFrame = (frame) => {
    switch (frame.type) {
      case 'request':
        bodies.set(frame.id, receiveBody(frame.paramsLength));
        return take(frame.id, frame.params, frame.fin);
      case 'data':
        end.link.sendQueue.sendControl({ type: 'credit', id: frame.id, bytes: frame.bytes.length });
        return take(frame.id, frame.bytes, frame.fin);
      case 'credit':
        return end.link.sendQueue.addCredit(frame.id, frame.bytes);
      default:
        expect.unreachable(frame.type);
    }
  };
  function take(id: number, bytes: Uint8Array, fin: boolean): void {
    const body = bodies.get(id);
    if (body?.add(bytes, fin) !== true) return;
    end.link.sendQueue.sendBody({ type: 'result', id, count: 1, truncated: false }, joinPieces(body.pieces));
  }
}

/** The rows of `count` results by call id; grants what lies beyond the first window in one piece. */
function collect(end: End, count: number): Promise<Map<number, Uint8Array>> {
  const bodies = new Map<number, Body>();
  const complete = new Map<number, Uint8Array>();
  return new Promise((resolve) => {
    end.onFrame = (frame) => {
      switch (frame.type) {
        case 'result': {
          bodies.set(frame.id, receiveBody(frame.rowsLength));
          const beyond = frame.rowsLength - INITIAL_CREDIT_BYTES;
          if (beyond > 0) end.link.sendQueue.sendControl({ type: 'credit', id: frame.id, bytes: beyond });
          return take(frame.id, frame.rows, frame.fin);
        }
        case 'data':
          return take(frame.id, frame.bytes, frame.fin);
        case 'credit':
          return end.link.sendQueue.addCredit(frame.id, frame.bytes);
        default:
          expect.unreachable(frame.type);
      }
    };
    function take(id: number, bytes: Uint8Array, fin: boolean): void {
      const body = bodies.get(id);
      if (body?.add(bytes, fin) !== true) return;
      complete.set(id, joinPieces(body.pieces));
      if (complete.size === count) resolve(complete);
    }
  });
}
