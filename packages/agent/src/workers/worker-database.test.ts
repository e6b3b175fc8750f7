import { expect, test, vi } from 'vitest';
import type { DatabaseChange, SharingEnded } from '../databases/driver/driver.ts';
import { openWorkerDatabase, type WorkerEnded } from './worker-database.ts';

/** Says that it is ready, and ends at once. */
const CODE = {
  command: 'internal-worker',
  text: "require('node:fs').writeSync(3, Buffer.from([0, 0, 0, 5, 1, 0, 0, 0, 0])); setTimeout(process.exit, 20, 3)",
};

test('a worker is started again and again while no further process can be made', async () => {
  const ends: WorkerEnded[] = [];
  const database = await openWorkerDatabase({
    code: CODE,
    workers: 1,
    config: { driver: 'postgres', maxConnections: 1, requireReadonlyAccount: false },
    onChange: () => {},
    onWorkerEnded: (end) => void ends.push(end),
  });
  // More than a process can be given.
  process.env['TOO_LONG'] = 'x'.repeat(4_000_000);
  try {
    await vi.waitFor(() => expect(ends.length).toBeGreaterThanOrEqual(3), { timeout: 20_000 });
  } finally {
    delete process.env['TOO_LONG'];
  }
  await database.close();
  expect(ends.slice(0, 3)).toMatchObject([
    { code: 3, restartInMs: 100 },
    { code: null, detail: expect.stringContaining('E2BIG'), restartInMs: 200 },
    { code: null, detail: expect.stringContaining('E2BIG'), restartInMs: 400 },
  ]);
});

/** Says that it is ready, that the sharing of a capability has ended, and how many transactions it had, and ends. */
const COUNTING = {
  command: 'internal-worker',
  text: `
    const { serialize } = require('node:v8');
    const numbers = (...values) => Buffer.concat(values.map((value) => Buffer.from(Uint32Array.of(value).buffer).swap32()));
    const send = (kind, body) =>
      require('node:fs').writeSync(3, Buffer.concat([numbers(1 + body.length), Buffer.of(kind), body]));
    send(1, numbers(0));
    send(7, serialize('find_book'));
    send(5, Buffer.concat([numbers(1, 0, 0, 0), Buffer.of(3), numbers(0, 7, 0, 2, 0, 9, 0, 1)]));
    setTimeout(process.exit, 50, 3);
  `,
};

test('what workers counted is kept when they end, and each tells of the end of sharing', async () => {
  const changes: (DatabaseChange | SharingEnded)[] = [];
  const database = await openWorkerDatabase({
    code: COUNTING,
    workers: 2,
    config: { driver: 'postgres', maxConnections: 2, requireReadonlyAccount: false },
    onChange: (change) => changes.push(change),
    onWorkerEnded: () => {},
  });
  const counts: number[] = [];
  await vi.waitFor(
    () => {
      counts.push(database.transactions?.own ?? 0);
      expect(counts.at(-1)).toBeGreaterThanOrEqual(4 * 7);
    },
    { timeout: 20_000, interval: 5 },
  );
  const { own = 0, ...others } = database.transactions ?? {};
  await database.close();
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  const processes = own / 7;
  expect(others).toEqual({ shared: 2 * processes, sharedCalls: 9 * processes, sharedResends: processes });
  expect(changes.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => ({ sharingEnded: 'find_book' })));
});
