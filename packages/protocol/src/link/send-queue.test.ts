import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProtocolError } from '../rules/close-code.ts';
import type { Frame } from '../frames/frame.ts';
import { INITIAL_CREDIT_BYTES, MESSAGE_MAX_BYTES } from '../rules/limits.ts';
import {
  CONTENT,
  CONTENT_BYTES,
  createSendQueueModel,
  FIRST_PIECE_BYTES,
  type SendQueueModel,
} from './send-queue-model.testing.ts';
import type { BodyHead } from './send-queue.ts';

type Step =
  | { readonly do: 'body'; readonly size: number; readonly isRequest: boolean }
  | { readonly do: 'control'; readonly frame: Frame }
  | { readonly do: 'credit'; readonly id: number; readonly bytes: number }
  | { readonly do: 'cancel'; readonly id: number }
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
      arbitrary: fc.record({ do: fc.constant('credit'), id, bytes: fc.integer({ min: 1, max: 200_000 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel'), id }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('leave', 'turn') }) },
  ),
  { maxLength: 60 },
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function take(model: SendQueueModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'body':
      model.add(step.size, step.isRequest);
      break;
    case 'control':
      model.sendControl(step.frame);
      break;
    case 'credit':
      model.addCredit(step.id, step.bytes);
      break;
    case 'cancel':
      model.cancelBody(step.id);
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
async function settle(model: SendQueueModel): Promise<void> {
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
      const model = createSendQueueModel();
      for (const step of steps) await take(model, step);
      await settle(model);
      for (const body of model.live) {
        expect(body.sent, 'I7: all that was granted has left').toBe(
          Math.min(body.bytes.length, body.granted),
        );
        model.addCredit(body.head.id, CONTENT_BYTES);
      }
      const drained = model.sendQueue.drained();
      await settle(model);
      await drained;
      for (const body of model.live) {
        expect(body.begun, 'I6').toBe(true);
        expect(body.sent, 'I6').toBe(body.bytes.length);
      }
      expect(model.controls).toEqual([]);
      expect(model.sendQueue.queuedBytes).toBe(0);
      const { messages } = model;
      await turn();
      expect(model.messages, 'nothing is sent twice').toBe(messages);
    }),
    { numRuns: 150 },
  );
});

test('I13: after close() nothing is sent, whatever was queued before and whatever is queued after', async () => {
  await fc.assert(
    fc.asyncProperty(steps, steps, async (before, after) => {
      const model = createSendQueueModel();
      for (const step of before) await take(model, step);
      model.close();
      await model.sendQueue.drained();
      for (const step of after) {
        if (step.do === 'body')
          model.sendQueue.sendBody({ type: 'result', id: 1, count: 0, truncated: false }, CONTENT);
        else if (step.do === 'control') model.sendQueue.sendControl(step.frame);
        else if (step.do === 'credit') model.sendQueue.addCredit(step.id, step.bytes);
        else if (step.do === 'cancel') model.sendQueue.cancelBody(step.id);
        else await take(model, step);
      }
      await settle(model);
      expect(model.sendQueue.queuedBytes).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test('I7: beyond the first window nothing leaves without credit, and then exactly as much as the credit', async () => {
  const model = createSendQueueModel();
  model.add(500_000, false);
  await settle(model);
  expect(model.bodies.get(1)?.sent).toBe(131_072);
  model.addCredit(1, 10);
  await settle(model);
  expect(model.bodies.get(1)?.sent).toBe(131_082);
});

test('I8: requests leave in the order of their ids, large or small', async () => {
  const model = createSendQueueModel();
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
  const model = createSendQueueModel();
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
  const model = createSendQueueModel();
  model.add(500_000, false);
  await turn();
  model.check();
  model.sendControl({ type: 'ping', token: 7 });
  model.leave();
  await turn();
  model.check();
  expect(model.controls).toEqual([]);
});

test('I10: control frames too large for one message keep their order', async () => {
  const model = createSendQueueModel();
  const large = {
    type: 'error',
    id: 99,
    code: 'AGENT_BUSY',
    message: 'm'.repeat(16_384),
    notStarted: true,
  } as const;
  for (let token = 0; token < 12; token++) {
    model.sendControl({ type: 'ping', token });
    model.sendControl(large);
  }
  model.add(200, false);
  await settle(model);
  expect(model.controls).toEqual([]);
  expect(model.messages).toBe(4);
});

test('I7: credit frames that arrive together add up', async () => {
  const model = createSendQueueModel();
  model.add(500_000, false);
  await settle(model);
  for (let count = 0; count < 4; count++) model.addCredit(1, 100_000);
  await settle(model);
  expect(model.bodies.get(1)?.sent).toBe(500_000);
});

test('I11: large bodies under way take turns', async () => {
  const model = createSendQueueModel();
  for (let id = 1; id <= 4; id++) {
    model.add(CONTENT_BYTES, false);
    model.addCredit(id, CONTENT_BYTES);
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
  const model = createSendQueueModel();
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

test('I12: a body cancelled before its head has left is never sent; cancelled later, the rest of it is not sent', async () => {
  const model = createSendQueueModel();
  model.add(200, true);
  model.cancelBody(1);
  await turn();
  model.check();
  expect(model.messages).toBe(0);
  expect(model.sendQueue.cancelBody(99), 'an unknown body counts as sent').toBe(true);

  const late = createSendQueueModel();
  late.add(500_000, true);
  await settle(late);
  late.cancelBody(1);
  late.addCredit(1, 500_000);
  await settle(late);
  expect(late.bodies.get(1)?.sent).toBe(131_072);
  expect(late.sendQueue.queuedBytes).toBe(0);
});

test('I12: a body cancelled with credit left stops there', async () => {
  const model = createSendQueueModel();
  model.add(500_000, false);
  model.addCredit(1, 500_000);
  await turn();
  model.cancelBody(1);
  await settle(model);
  expect(model.messages).toBe(2);
});

test('what is queued within one turn of the event loop leaves as one message', async () => {
  const model = createSendQueueModel();
  for (let count = 0; count < 100; count++) model.add(50, count % 2 === 0);
  model.sendControl({ type: 'ping', token: 1 });
  await turn();
  model.check();
  expect(model.messages).toBe(1);
  expect(model.sendQueue.queuedBytes).toBe(0);
});

test('a head beyond its bounds is refused at once and disturbs nothing else', async () => {
  const model = createSendQueueModel();
  const head: BodyHead = {
    type: 'request',
    id: 1,
    capability: 'get',
    timeoutMs: 1,
    metadata: { traceparent: 'x'.repeat(8193) },
  };
  expect(() => model.sendQueue.sendBody(head, CONTENT)).toThrow(RangeError);
  expect(() => model.sendQueue.sendBody({ ...head, metadata: {}, timeoutMs: -1 }, CONTENT)).toThrow(
    RangeError,
  );
  expect(() => model.sendQueue.sendControl({ type: 'go_away', reason: 'r'.repeat(257) })).toThrow(RangeError);
  expect(model.sendQueue.queuedBytes).toBe(0);
  model.add(50, true);
  await turn();
  model.check();
  expect(model.bodies.get(1)?.sent).toBe(50);
});

test('credit beyond what a body can hold is a breach of the protocol', () => {
  const model = createSendQueueModel();
  model.add(500_000, false);
  expect(() => model.sendQueue.addCredit(1, 0xffff_ffff)).toThrow(ProtocolError);
});
