import { describe, expect, test } from 'vitest';
import { callOf, capabilityOf, numbers, textOf } from './capability.testing.ts';
import type { Suite } from './tested-driver.testing.ts';

/** Five times as long as ending a call may take, beyond the time that it was given. */
const WITHIN_MS = 5000;
/** Longer than any test waits. */
const ENDLESS_MS = 30_000;

async function elapsed(call: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await call.catch(() => {});
  return performance.now() - started;
}

export function describeStopping(suite: Suite): void {
  const { dialect, open } = suite;
  const endless = capabilityOf(dialect.slow(ENDLESS_MS), { name: 'endless' });
  const book = capabilityOf('select id as a from book where id = :n', { params: { n: { type: 'integer' } } });

  function busySessions(): Promise<number> {
    return suite.server.busySessions();
  }

  async function untilBusy(): Promise<void> {
    await expect.poll(busySessions, { interval: 5 }).toBeGreaterThan(0);
  }

  async function untilOver(): Promise<void> {
    await expect.poll(busySessions, { interval: 5, timeout: WITHIN_MS }).toBe(0);
  }

  describe('a call that is stopped', () => {
    test('by its time limit fails with timeout, and its query is over in the database', async () => {
      const driver = await open(1);
      const [query, next] = [await driver.prepare(endless), await driver.prepare(book)];
      const call = query.run(callOf({}, { timeoutMs: 300 }));
      const took = elapsed(call);
      await expect(call).rejects.toMatchObject({ kind: 'timeout' });
      expect(await took).toBeGreaterThan(290);
      expect(await took).toBeLessThan(300 + WITHIN_MS);
      await untilOver();
      expect(textOf((await next.run(callOf({ n: 5 }))).rows)).toBe('[{"a":5}]');
    });

    test('by an abort fails with cancelled, and its query is over in the database', async () => {
      const driver = await open(1);
      const [query, next] = [await driver.prepare(endless), await driver.prepare(book)];
      const abort = new AbortController();
      const call = query.run(callOf({}, { signal: abort.signal, timeoutMs: ENDLESS_MS }));
      await untilBusy();
      abort.abort();
      const took = elapsed(call);
      await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
      expect(await took).toBeLessThan(WITHIN_MS);
      await untilOver();
      expect(textOf((await next.run(callOf({ n: 5 }))).rows)).toBe('[{"a":5}]');
    });

    test('before it began does not reach the database', async () => {
      const driver = await open(1);
      const query = await driver.prepare(endless);
      const call = query.run(callOf({}, { signal: AbortSignal.abort() }));
      await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
      expect(driver.database.connections).toEqual({ idle: 0, busy: 0, opening: 0, waiting: 0 });
    });

    test('in the turn in which it came, before any other of its query, costs those behind it nothing', async () => {
      const driver = await open(1);
      const [first, query] = [await driver.prepare(book), await driver.prepare(book)];
      await first.run(callOf({ n: 1 }));
      const abort = new AbortController();
      const call = query.run(callOf({ n: 2 }, { signal: abort.signal }));
      abort.abort();
      // It may have been answered already.
      await call.catch(() => {});
      for (const n of [3, 4]) expect(textOf((await query.run(callOf({ n }))).rows)).toBe(`[{"a":${n}}]`);
    });

    test('over and over hits none of the queries behind it', async () => {
      const driver = await open(1);
      const [short, next] = [await driver.prepare(capabilityOf(dialect.slow(3))), await driver.prepare(book)];
      for (const round of numbers(30)) {
        const abort = new AbortController();
        const call = short.run(callOf({}, { signal: abort.signal }));
        const behind = next.run(callOf({ n: round }));
        setTimeout(() => abort.abort(), round % 7);
        await call.catch(() => {});
        expect(textOf((await behind).rows)).toBe(`[{"a":${round}}]`);
      }
    });

    test('while it waits for a connection costs the one that has it nothing', async () => {
      const driver = await open(1);
      const [query, next] = [
        await driver.prepare(capabilityOf(dialect.slow(200))),
        await driver.prepare(book),
      ];
      const holding = query.run(callOf());
      const abort = new AbortController();
      const aborted = next.run(callOf({ n: 1 }, { signal: abort.signal }));
      const late = next.run(callOf({ n: 1 }, { timeoutMs: 50 }));
      abort.abort();
      await expect(aborted).rejects.toMatchObject({ kind: 'cancelled' });
      await expect(late).rejects.toMatchObject({ kind: 'timeout' });
      expect((await holding).count).toBe(1);
    });
  });
}
