import { expect, test } from 'vitest';
import type { Batch } from './pipeline.ts';
import {
  PipelineQueue,
  type CancelReason,
  type MoveReason,
  type QueuedTransaction,
} from './pipeline-queue.ts';

interface RecordedTransaction extends QueuedTransaction {
  /** What it was told, in order. */
  readonly told: (MoveReason | CancelReason | 'first')[];
}

function recorded(...texts: readonly string[]): RecordedTransaction {
  return recordedIn({ size: 1 }, ...texts);
}

function recordedIn(batch: Batch, ...texts: readonly string[]): RecordedTransaction {
  const told: RecordedTransaction['told'] = [];
  return {
    texts,
    batch,
    told,
    move: (reason) => told.push(reason),
    isWanted: () => false,
    cancel: (why) => told.push(why),
    onFirst: () => told.push('first'),
  };
}

function queueOf(...transactions: readonly QueuedTransaction[]): PipelineQueue {
  const queue = new PipelineQueue(0);
  for (const transaction of transactions) queue.add(transaction);
  return queue;
}

test('transactions have their turns in the order in which they were added, and each is told of its own', () => {
  const [a, b, c] = [recorded('a'), recorded('b1', 'b2'), recorded('c')];
  const queue = queueOf(a, b, c);
  expect([queue.length, queue.texts]).toEqual([3, ['a', 'b1', 'b2', 'c']]);
  expect([a, b, c].map((transaction) => queue.isRunning(transaction))).toEqual([true, false, false]);
  queue.remove(a);
  expect([a.told, b.told, c.told]).toEqual([[], ['first'], []]);
  expect([queue.isRunning(a), queue.isRunning(b), queue.length]).toEqual([false, true, 2]);
  queue.remove(b);
  queue.remove(c);
  expect([c.told, queue.length, queue.texts]).toEqual([['first'], 0, []]);
});

test('one that is removed from the middle, or twice, gives no other its turn', () => {
  const [a, b, c] = [recorded(), recorded(), recorded()];
  const queue = queueOf(a, b, c);
  queue.remove(b);
  queue.remove(b);
  expect([queue.length, queue.isRunning(a), c.told]).toEqual([2, true, []]);
});

test('tells what each took at the server, the network not counted', () => {
  let now = 100;
  const queue = new PipelineQueue(30, () => now);
  const [a, b, c] = [recorded(), recorded(), recorded()];
  queue.add(a);
  now += 20;
  queue.add(b);
  now += 15;
  expect(queue.remove(a)).toBe(5);
  now += 15;
  queue.add(c);
  now += 40;
  expect(queue.remove(b)).toBe(40);
  // Sent long before its turn: its answer comes right behind.
  now += 7;
  expect(queue.remove(c)).toBe(7);
});

test('takes the quickest for the time on the network', () => {
  let now = 0;
  const queue = new PipelineQueue(30, () => now);
  const transaction = recorded();
  queue.add(transaction);
  now += 4;
  expect(queue.remove(transaction)).toBe(0);
  queue.add(transaction);
  now += 10;
  expect(queue.remove(transaction)).toBe(6);
});

test('the first is late after 10 ms, and where all take longer than usual, after four times what is usual', () => {
  let now = 0;
  const queue = new PipelineQueue(0, () => now);
  const isLateAfter = (ms: number): boolean => {
    const transaction = recorded();
    queue.add(transaction);
    now += ms;
    const isLate = queue.isFirstLate;
    queue.remove(transaction);
    return isLate;
  };
  expect([10, 11].map(isLateAfter)).toEqual([false, true]);
  for (let count = 0; count < 100; count += 1) isLateAfter(5);
  expect([19, 19, 40].map(isLateAfter)).toEqual([false, false, true]);
  // A long one that was alone does not make those behind it wait for as long.
  for (let count = 0; count < 100; count += 1) isLateAfter(60_000);
  expect([79, 82].map(isLateAfter)).toEqual([false, true]);
});

test('a closed queue lets no other in, and all but the first are moved', () => {
  const [a, b, c] = [recorded(), recorded(), recorded()];
  const queue = queueOf(a, b, c);
  expect(queue.isOpen).toBe(true);
  queue.close();
  expect(queue.isOpen).toBe(false);
  expect([a.told, b.told, c.told]).toEqual([[], ['behind'], ['behind']]);
  // They are under way all the same.
  expect(queue.length).toBe(3);
  expect(() => queue.add(recorded())).toThrow('not open');
  queue.reopen();
  expect(queue.isOpen).toBe(true);
});

test('a claim moves all others, also those behind one that has been removed, and the first one has it', () => {
  const [a, b, c] = [recorded(), recorded(), recorded()];
  const queue = queueOf(a, b, c);
  queue.remove(a);
  expect(queue.claim(a)).toBe(true);
  expect([b.told, c.told, queue.isOpen]).toEqual([['first', 'behind'], ['behind'], false]);
  queue.remove(b);
  expect(queue.claim(b)).toBe(false);
  expect(queue.claim(a)).toBe(true);
  queue.reopen();
  expect(queue.claim(c)).toBe(true);
});

test('the one that claims stays, and one that it moved cannot claim, also after a close', () => {
  const [a, b] = [recorded(), recorded()];
  const queue = queueOf(a, b);
  queue.close();
  expect(queue.claim(a)).toBe(true);
  expect([a.told, queue.claim(b)]).toEqual([['behind'], false]);
});

test('of a batch none is known to run before the others have ended, and what they took is shared', () => {
  let now = 0;
  const queue = new PipelineQueue(0, () => now);
  const batch = { size: 3 };
  const [a, b, c, d] = [recordedIn(batch), recordedIn(batch), recordedIn(batch), recorded()];
  for (const each of [a, b, c, d]) queue.add(each);
  expect([queue.isRunning(a), queue.isBatchFirst]).toEqual([false, true]);
  now += 6;
  expect(queue.remove(a)).toBe(2);
  expect([queue.isRunning(b), queue.isBatchFirst]).toEqual([false, true]);
  expect(queue.remove(b)).toBe(2);
  expect([queue.isRunning(c), queue.isBatchFirst]).toEqual([true, false]);
  // Its result did not come with theirs.
  now += 5;
  expect(queue.remove(c)).toBe(5);
  now += 1;
  expect([queue.isRunning(d), queue.remove(d)]).toEqual([true, 1]);
});

test('when a queue is closed whose first is in a batch, all are moved, and what runs is cancelled', () => {
  const batch = { size: 2 };
  const [a, b, c] = [recordedIn(batch), recordedIn(batch), recorded()];
  queueOf(a, b, c).close();
  expect([a.told, b.told, c.told]).toEqual([['suspected', 'late'], ['suspected'], ['behind']]);
});

test('the last of a batch is closed as one that was sent alone', () => {
  const batch = { size: 2 };
  const [a, b, c] = [recordedIn(batch), recordedIn(batch), recorded()];
  const queue = queueOf(a, b, c);
  queue.remove(a);
  queue.close();
  expect([b.told, c.told]).toEqual([['first'], ['behind']]);
});
