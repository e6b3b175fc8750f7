import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { createSpanQueue } from './span-queue.ts';

type Done = Parameters<SpanExporter['export']>[1];

function exporterByHand() {
  const batches: { readonly size: number; readonly done: Done }[] = [];
  const exporter: SpanExporter = {
    export: (spans, done) => void batches.push({ size: spans.length, done }),
    shutdown: async () => {},
  };
  return { exporter, batches };
}

// The queue looks into none of them.
const span = (): ReadableSpan => Object.create(null);
const LIMITS = { queue: { maxSpans: 5, batchSpans: 2, delayMs: 60_000 }, timeoutMs: 60_000 };

test('one batch is under way, so many wait, the rest is dropped', () => {
  const { exporter, batches } = exporterByHand();
  const queue = createSpanQueue(exporter, LIMITS);
  for (let count = 0; count < 10; count++) queue.add(span);
  expect(batches.map(({ size }) => size)).toEqual([2]);
  expect(queue.dropped).toBe(3);
  batches[0]?.done({ code: 0 });
  batches[1]?.done({ code: 1 });
  batches[1]?.done({ code: 1 });
  expect(batches.map(({ size }) => size)).toEqual([2, 2, 2]);
  expect(queue.dropped).toBe(5);
});

test('few wait for the delay', async () => {
  const { exporter, batches } = exporterByHand();
  const queue = createSpanQueue(exporter, { ...LIMITS, queue: { ...LIMITS.queue, delayMs: 1 } });
  queue.add(span);
  expect(batches).toEqual([]);
  await expect.poll(() => batches.length).toBe(1);
});

test('at the end what waits is sent, and what is not taken in time is dropped', async () => {
  const { exporter, batches } = exporterByHand();
  const queue = createSpanQueue(exporter, LIMITS);
  for (let count = 0; count < 5; count++) queue.add(span);
  const closed = queue.close(60_000);
  for (const at of [0, 1, 2]) batches[at]?.done({ code: 0 });
  await closed;
  expect(batches.map(({ size }) => size)).toEqual([2, 2, 1]);
  expect(queue.dropped).toBe(0);

  const other = createSpanQueue(exporter, LIMITS);
  for (let count = 0; count < 5; count++) other.add(span);
  await other.close(1);
  other.add(span);
  expect(other.dropped).toBe(6);
});
