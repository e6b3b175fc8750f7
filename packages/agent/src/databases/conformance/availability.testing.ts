import { describe, expect, test } from 'vitest';
import type { Database, Query } from '../driver/driver.ts';
import { callOf, capabilityOf, numbers, textOf } from './capability.testing.ts';
import type { TestServer } from './dialect.testing.ts';
import { openAlone, type Suite } from './tested-driver.testing.ts';

const NONE = { idle: 0, busy: 0, opening: 0, waiting: 0 };
const book = capabilityOf('select id as a from book where id = :n', { params: { n: { type: 'integer' } } });

async function expectBooks(query: Query, count: number): Promise<void> {
  const answers = await Promise.all(
    numbers(count).map(async (n) => textOf((await query.run(callOf({ n }))).rows)),
  );
  expect(answers).toEqual(numbers(count).map((n) => `[{"a":${n}}]`));
}

/** A process that is still being made computes, too. */
async function untilSlow(database: Database, server: TestServer): Promise<void> {
  await expect.poll(() => database.connections, { interval: 5 }).toMatchObject({ opening: 0, busy: 1 });
  await expect.poll(() => server.slowSessions(), { interval: 5 }).toBeGreaterThan(0);
}

export function describeAvailability(suite: Suite): void {
  const { dialect, open } = suite;

  describe('connections', () => {
    test('are made when they are needed, counted, and never more than may be', async () => {
      const { database, prepare } = await open(2);
      // The first call has to last until the second connection is made, which takes long on a busy machine.
      const slow = await prepare(capabilityOf(dialect.slow(1000)));
      const query = await prepare(book);
      expect(database.connections).toEqual(NONE);
      const calls = [slow, slow, query].map((each) => each.run(callOf({ n: 1 }, { timeoutMs: 60_000 })));
      await expect
        .poll(() => database.connections, { interval: 5 })
        .toEqual({ ...NONE, busy: 2, waiting: 1 });
      await Promise.all(calls);
      await expect.poll(() => database.connections).toEqual({ ...NONE, idle: 2 });
      expect(database.isUp).toBe(true);
    });

    test('that the database has ended are replaced, and no call fails', async () => {
      const { database, prepare, changes, server } = await openAlone(suite);
      const query = await prepare(book);
      await expectBooks(query, 20);
      // One that ends while it is made has not been ended, but failed.
      await expect.poll(() => database.connections).toMatchObject({ opening: 0 });
      await server.endSessions();
      await expectBooks(query, 3);
      await expectBooks(query, 20);
      await database.ping();
      expect(changes).toEqual([]);
    });

    test('that end under a query fail that call only', async () => {
      const { database, prepare, changes, server } = await openAlone(suite, 1);
      const slow = await prepare(capabilityOf(dialect.slow(30_000)));
      const query = await prepare(book);
      const lost = slow.run(callOf({}, { timeoutMs: 30_000 })).catch((reason: unknown) => reason);
      await untilSlow(database, server);
      await server.endSessions();
      await expectBooks(query, 10);
      expect(await lost).toMatchObject({ kind: 'unavailable' });
      expect([database.isUp, changes]).toEqual([true, []]);
    });

    test('are all gone when the driver is closed: calls end before, and none begins', async () => {
      const { database, prepare, server, verifier } = await openAlone(suite, 2);
      // Longer than a busy machine takes to see that it runs.
      const slow = await prepare(capabilityOf(dialect.slow(1500)));
      const query = await prepare(book);
      await verifier.close();
      await expectBooks(query, 5);
      const running = slow.run(callOf({}, { timeoutMs: 60_000 }));
      await untilSlow(database, server);
      const closed = database.close();
      await expect(query.run(callOf({ n: 1 }))).rejects.toMatchObject({ kind: 'unavailable' });
      expect((await running).count).toBe(1);
      await closed;
      await expect.poll(() => server.sessions()).toBe(0);
      expect(database.connections).toEqual(NONE);
      await expect(query.run(callOf({ n: 1 }))).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(database.ping()).rejects.toMatchObject({ kind: 'unavailable' });
    });
  });

  describe('a database that is away', () => {
    test('is told once, as is its return, and calls fail with unavailable in between', async () => {
      const { database, prepare, changes, server } = await openAlone(suite);
      const query = await prepare(book);
      await expectBooks(query, 10);
      expect([database.isUp, changes]).toEqual([true, []]);
      await server.goAway();
      // A call whose time is over before it can be known has taken too long.
      const isUp = async (): Promise<boolean> => {
        await query.run(callOf({ n: 1 }, { timeoutMs: 300 })).catch(() => {});
        return database.isUp;
      };
      await expect.poll(isUp).toBe(false);
      const refused = numbers(5).map((n) =>
        expect(query.run(callOf({ n }, { timeoutMs: 300 }))).rejects.toMatchObject({ kind: 'unavailable' }),
      );
      await Promise.all(refused);
      const [advice, detail] = [expect.stringMatching(/\S/), expect.stringMatching(/\S/)];
      expect(changes).toEqual([{ isUp: false, advice, detail }]);
      await server.comeBack();
      await expect.poll(() => database.isUp).toBe(true);
      await expectBooks(query, 10);
      expect(changes).toEqual([
        { isUp: false, advice, detail },
        { isUp: true, awayMs: expect.any(Number) },
      ]);
    });

    test('from the beginning is unavailable, with advice, and is not told as lost', async () => {
      const { database, verifier, changes, server } = await openAlone(suite);
      await server.goAway();
      const unavailable = { kind: 'unavailable', advice: expect.stringMatching(/\S/) };
      await expect(verifier.ping()).rejects.toMatchObject(unavailable);
      await expect(verifier.verify([book])).rejects.toMatchObject(unavailable);
      await expect(database.ping()).rejects.toMatchObject(unavailable);
      expect(changes).toEqual([]);
    });
  });
}
