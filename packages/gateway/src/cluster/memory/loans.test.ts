import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PrimaryChannel, WorkerChannel } from '../channel.ts';
import { inProcessWire } from '../in-process-wire.testing.ts';
import { LOAN_STEP_BYTES } from './loan.ts';
import { lendMemory } from './loan-pools.ts';
import { createLentBodies } from './lent-bodies.ts';
import { createLentResults } from './lent-results.ts';
import { createPrimaryChannel } from '../primary/primary-channel.ts';
import { startOrder } from '../start-order.testing.ts';
import { createWorkerChannel } from '../worker/worker-channel.ts';

const MIB = 1024 * 1024;
const TOTAL = 64 * MIB;

async function replica(workers: number) {
  const primary = createPrimaryChannel();
  primary.answer('start', () => startOrder());
  lendMemory(primary, { results: TOTAL, bodies: TOTAL });
  const ends = Array.from({ length: workers }, (_, worker) => {
    const wire = inProcessWire();
    primary.attach(worker, wire.primary);
    return { channel: createWorkerChannel(wire.worker), cut: () => wire.worker.cut() };
  });
  await Promise.all(ends.map(({ channel }) => channel.ask('start', { version: '' })));
  return { primary, ends };
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const asks = (channel: WorkerChannel, count: { asked: number }): WorkerChannel => ({
  ...channel,
  ask: (kind, question) => {
    count.asked++;
    return channel.ask(kind, question);
  },
});

/** How many steps are left, by taking them all. */
async function free(primary: PrimaryChannel & { attach: ReturnType<typeof createPrimaryChannel>['attach'] }) {
  const wire = inProcessWire();
  primary.attach(99, wire.primary);
  const channel = createWorkerChannel(wire.worker);
  let steps = 0;
  while (await channel.ask('loan', { pool: 'results', steps: 1, back: 0, wait: false })) steps++;
  channel.tell('loan_back', { pool: 'results', steps });
  await later(2);
  return steps;
}

describe('memory for results that the primary lends', () => {
  it('never exceeds what there is, grants all in the end, and gives all back', async () => {
    const reservation = fc.record({
      worker: fc.nat(2),
      bytes: fc.oneof(fc.integer({ min: 1, max: 2 * MIB }), fc.integer({ min: 1, max: TOTAL })),
      heldMs: fc.nat(3),
      leaves: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(reservation, { minLength: 1, maxLength: 25 }), async (reservations) => {
        const { primary, ends } = await replica(3);
        const results = ends.map(({ channel }) => createLentResults(channel, TOTAL));
        const sum = (): number => results.reduce((total, { reservedBytes }) => total + reservedBytes, 0);
        let most = 0;
        await Promise.all(
          reservations.map(async ({ worker, bytes, heldMs, leaves }) => {
            let release = (): void => {};
            const granted = new Promise<void>((resolve) => {
              release = results[worker]?.reserve(bytes, resolve) ?? release;
            });
            if (leaves && heldMs === 0) await later(0);
            else await granted;
            most = Math.max(most, sum());
            await later(heldMs);
            release();
            release();
          }),
        );
        expect(most).toBeLessThanOrEqual(TOTAL);
        expect(sum()).toBe(0);
        await later(110);
        expect(await free(primary)).toBe(TOTAL / LOAN_STEP_BYTES);
      }),
      { numRuns: 15 },
    );
  });

  it.each([
    { wanted: 'a little', bytes: MIB },
    { wanted: 'all of it', bytes: TOTAL },
  ])('lets a worker that wants $wanted have it in its turn, however busy another is', async ({ bytes }) => {
    const { ends } = await replica(2);
    const [busy, other] = ends.map(({ channel }) => createLentResults(channel, TOTAL));
    if (busy === undefined || other === undefined) throw new Error('no workers');
    let ended = false;
    let held = 0;
    /** Always one more than there is memory for. */
    function keepBusy(): void {
      if (ended) return;
      const release = busy?.reserve(TOTAL / 16, () => {
        held++;
        setTimeout(
          () => {
            held--;
            release?.();
            keepBusy();
          },
          1 + (held % 3),
        );
      });
    }
    for (let index = 0; index < 17; index++) keepBusy();
    await later(20);
    const granted = new Promise<string>((resolve) => void other.reserve(bytes, () => resolve('granted')));
    const outcome = await Promise.race([granted, later(1000)]);
    const heldAfter = held;
    ended = true;
    expect(outcome).toBe('granted');
    if (bytes === TOTAL) expect(heldAfter).toBe(0);
  });

  it('asks for nothing while what is lent is enough', async () => {
    const { ends } = await replica(1);
    const count = { asked: 0 };
    const [first] = ends;
    if (first === undefined) throw new Error('no worker');
    const results = createLentResults(asks(first.channel, count), TOTAL);
    await new Promise<void>((resolve) => void results.reserve(MIB, resolve));
    let granted = 0;
    for (let index = 0; index < 7; index++) results.reserve(MIB, () => granted++);
    expect(granted).toBe(7);
    expect(count.asked).toBe(1);
  });

  it('frees what a worker that ends has held, and lets one go on whose primary ends', async () => {
    const { primary, ends } = await replica(2);
    const [first, second] = ends;
    if (first === undefined || second === undefined) throw new Error('no workers');
    const held = createLentResults(first.channel, TOTAL);
    await new Promise<void>((resolve) => void held.reserve(TOTAL, resolve));
    const waits = createLentResults(second.channel, TOTAL);
    const granted = new Promise<void>((resolve) => void waits.reserve(TOTAL, resolve));
    first.cut();
    await granted;
    expect(await free(primary)).toBe(0);
    second.cut();
    await later(2);
    await new Promise<void>((resolve) => void createLentResults(second.channel, TOTAL).reserve(MIB, resolve));
  });
});

describe('memory for bodies that the primary lends', () => {
  it('refuses beyond what there is for all workers, and gives back what is not used', async () => {
    const { ends } = await replica(2);
    const [one, other] = ends.map(({ channel }) =>
      createLentBodies(channel, TOTAL, 2, () => performance.now()),
    );
    if (one === undefined || other === undefined) throw new Error('no workers');
    const piece = 64 * 1024;
    let taken = 0;
    while (one.take(piece)) {
      taken += piece;
      if (taken % MIB === 0) await later(1);
    }
    expect(taken).toBeGreaterThanOrEqual(TOTAL);
    expect(taken).toBeLessThanOrEqual(TOTAL + LOAN_STEP_BYTES);
    other.take(piece);
    await later(2);
    expect(other.take(piece)).toBe(false);
    one.give(taken);
    await later(110);
    expect(other.take(piece)).toBe(true);
    await later(2);
    expect(other.take(piece)).toBe(true);
  });
});
