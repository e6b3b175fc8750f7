import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProtocolError } from '../close-code.ts';
import type { Frame } from '../frames/frame.ts';
import { INITIAL_CREDIT_BYTES, MESSAGE_MAX_BYTES } from '../limits.ts';
import {
  CONTENT,
  CONTENT_BYTES,
  createOutboxModel,
  FIRST_PIECE_BYTES,
  type OutboxModel,
} from './send-queue-model.testing.ts';
import type { BodyHead } from './send-queue.ts';

type Step =
  | { readonly do: 'body'; readonly size: number; readonly isRequest: boolean }
  | { readonly do: 'control'; readonly frame: Frame }
  | { readonly do: 'grant'; readonly id: number; readonly bytes: number }
  | { readonly do: 'drop'; readonly id: number }
  | { readonly do: 'leave' | 'turn' };

const id = fc.integer({ min: 1, max: 12 });
const size = fc.oneof(
  fc.constantFrom(
    0,
    1,
    FIRST_PIECE_BYTES,
    FIRST_PIECE_BYTES + 1,
    INITIAL_CREDIT_BYTES,
    INITIAL_CREDIT_BYTES + 1,
  ),
  fc.nat(500),
  fc.nat(CONTENT_BYTES),
);
const control: fc.Arbitrary<Frame> = fc.oneof(
  fc.nat().map((token) => ({ type: 'ping', token }) as const),
  // Large enough that a few of them fill a message.
  fc.nat(16_384).map(
    (length) =>
      ({
        type: 'error',
        id: 99,
        code: 'AGENT_BUSY',
        message: 'm'.repeat(length),
        notStarted: true,
      }) as const,
  ),
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('body'), size, isRequest: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('control'), frame: control }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('grant'), id, bytes: fc.integer({ min: 1, max: 200_000 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('drop'), id }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('leave', 'turn') }) },
  ),
  { maxLength: 60 },
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function take(model: OutboxModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'body':
      model.add(step.size, step.isRequest);
      break;
    case 'control':
      model.control(step.frame);
      break;
    case 'grant':
      model.grant(step.id, step.bytes);
      break;
    case 'drop':
      model.drop(step.id);
      break;
    case 'leave':
      model.leave();
      break;
    case 'turn':
      await turn();
  }
  model.check();
}

/** Lets messages leave until no further one comes. */
async function settle(model: OutboxModel): Promise<void> {
  for (let before = -1; before !== model.messages || model.unsent > 0;) {
    before = model.messages;
    model.leave();
    await turn();
    model.check();
  }
}

test('I6: whatever happens in whatever order, bodies arrive whole, in order and once; I7 to I12 hold throughout', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const model = createOutboxModel();
      for (const step of steps) await take(model, step);
      await settle(model);
      for (const body of model.live) {
        expect(body.sent, 'I7: all that was granted has left').toBe(
          Math.min(body.bytes.length, body.granted),
        );
        model.grant(body.head.id, CONTENT_BYTES);
      }
      const drained = model.outbox.drained();
      await settle(model);
      await drained;
      for (const body of model.live) {
        expect(body.begun, 'I6').toBe(true);
        expect(body.sent, 'I6').toBe(body.bytes.length);
      }
      expect(model.controls).toEqual([]);
      expect(model.outbox.queuedBytes).toBe(0);
      const { messages } = model;
      await turn();
      expect(model.messages, 'nothing is sent twice').toBe(messages);
    }),
    { numRuns: 150 },
  );
});

test('I13: after close() nothing is sent, whatever was queued and whatever is said', async () => {
  await fc.assert(
    fc.asyncProperty(steps, steps, async (before, after) => {
      const model = createOutboxModel();
      for (const step of before) await take(model, step);
      model.close();
      await model.outbox.drained();
      for (const step of after) {
        if (step.do === 'body')
          model.outbox.body({ type: 'result', id: 1, count: 0, truncated: false }, CONTENT);
        else if (step.do === 'control') model.outbox.control(step.frame);
        else if (step.do === 'grant') model.outbox.grant(step.id, step.bytes);
        else if (step.do === 'drop') model.outbox.drop(step.id);
        else await take(model, step);
      }
      await settle(model);
      expect(model.outbox.queuedBytes).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test('I7: beyond the first window nothing leaves without a grant, and then exactly as much', async () => {
  const model = createOutboxModel();
  model.add(500_000, false);
  await settle(model);
  expect(model.bodies.get(1)?.sent).toBe(131_072);
  model.grant(1, 10);
  await settle(model);
  expect(model.bodies.get(1)?.sent).toBe(131_082);
});

test('I8: requests leave in the order of their ids, large or small', async () => {
  const model = createOutboxModel();
  for (let id = 1; id <= 50; id++) model.add(id % 3 === 0 ? INITIAL_CREDIT_BYTES : 100, true);
  const begun: number[] = [];
  while (begun.length < 50) {
    await turn();
    model.check();
    const ids = [...model.bodies].filter(([, body]) => body.begun).map(([id]) => id);
    begun.push(...ids.filter((id) => !begun.includes(id)));
    model.leave();
  }
  expect(begun).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
  await settle(model);
});

test('I9: two messages at most wait for the operating system', async () => {
  const model = createOutboxModel();
  model.add(500_000, false);
  await turn();
  model.check();
  expect(model.unsent).toBe(2);
  await turn();
  model.check();
  expect(model.messages).toBe(2);
  model.leave();
  await turn();
  model.check();
  expect(model.messages).toBe(3);
});

test('I10: a control frame overtakes a large body that is under way', async () => {
  const model = createOutboxModel();
  model.add(500_000, false);
  await turn();
  model.check();
  model.control({ type: 'ping', token: 7 });
  model.leave();
  await turn();
  model.check();
  expect(model.controls).toEqual([]);
});

test('I10: control frames too large for one message keep their order', async () => {
  const model = createOutboxModel();
  const large = {
    type: 'error',
    id: 99,
    code: 'AGENT_BUSY',
    message: 'm'.repeat(16_384),
    notStarted: true,
  } as const;
  for (let token = 0; token < 12; token++) {
    model.control({ type: 'ping', token });
    model.control(large);
  }
  model.add(200, false);
  await settle(model);
  expect(model.controls).toEqual([]);
  expect(model.messages).toBe(4);
});

test('I7: grants that arrive together add up', async () => {
  const model = createOutboxModel();
  model.add(500_000, false);
  await settle(model);
  for (let count = 0; count < 4; count++) model.grant(1, 100_000);
  await settle(model);
  expect(model.bodies.get(1)?.sent).toBe(500_000);
});

test('I11: large bodies under way take turns', async () => {
  const model = createOutboxModel();
  for (let id = 1; id <= 4; id++) {
    model.add(CONTENT_BYTES, false);
    model.grant(id, CONTENT_BYTES);
  }
  for (let count = 0; count < 20; count++) {
    await turn();
    model.check();
    model.leave();
  }
  const sent = model.live.map((body) => body.sent);
  expect(Math.max(...sent)).toBeLessThan(CONTENT_BYTES);
  expect(Math.max(...sent) - Math.min(...sent)).toBeLessThan(2 * MESSAGE_MAX_BYTES);
});

test('I11: a small body leaves in the next message though twenty large ones are under way', async () => {
  const model = createOutboxModel();
  for (let count = 0; count < 20; count++) model.add(CONTENT_BYTES, false);
  for (let count = 0; count < 12; count++) {
    await turn();
    model.check();
    model.leave();
  }
  const { messages } = model;
  model.add(200, false);
  await turn();
  model.check();
  expect(model.messages).toBe(messages + 1);
  expect(model.bodies.get(21)?.sent).toBe(200);
});

test('I12: dropping before the head has left leaves no trace; after it, the rest never comes', async () => {
  const model = createOutboxModel();
  model.add(200, true);
  model.drop(1);
  await turn();
  model.check();
  expect(model.messages).toBe(0);
  expect(model.outbox.drop(99), 'an unknown body counts as sent').toBe(true);

  const late = createOutboxModel();
  late.add(500_000, true);
  await settle(late);
  late.drop(1);
  late.grant(1, 500_000);
  await settle(late);
  expect(late.bodies.get(1)?.sent).toBe(131_072);
  expect(late.outbox.queuedBytes).toBe(0);
});

test('I12: a body dropped in the middle of what was granted stops there', async () => {
  const model = createOutboxModel();
  model.add(500_000, false);
  model.grant(1, 500_000);
  await turn();
  model.drop(1);
  await settle(model);
  expect(model.messages).toBe(2);
});

test('what is said within one turn of the event loop leaves as one message', async () => {
  const model = createOutboxModel();
  for (let count = 0; count < 100; count++) model.add(50, count % 2 === 0);
  model.control({ type: 'ping', token: 1 });
  await turn();
  model.check();
  expect(model.messages).toBe(1);
  expect(model.outbox.queuedBytes).toBe(0);
});

test('a head beyond its bounds is refused at once and disturbs nothing else', async () => {
  const model = createOutboxModel();
  const head: BodyHead = {
    type: 'request',
    id: 1,
    capability: 'get',
    timeoutMs: 1,
    metadata: { traceparent: 'x'.repeat(1025) },
  };
  expect(() => model.outbox.body(head, CONTENT)).toThrow(RangeError);
  expect(() => model.outbox.body({ ...head, metadata: {}, timeoutMs: -1 }, CONTENT)).toThrow(RangeError);
  expect(() => model.outbox.control({ type: 'go_away', reason: 'r'.repeat(257) })).toThrow(RangeError);
  expect(model.outbox.queuedBytes).toBe(0);
  model.add(50, true);
  await turn();
  model.check();
  expect(model.bodies.get(1)?.sent).toBe(50);
});

test('credit beyond what a body can hold is a breach of the protocol', () => {
  const model = createOutboxModel();
  model.add(500_000, false);
  expect(() => model.outbox.grant(1, 0xffff_ffff)).toThrow(ProtocolError);
});
