import { expect, test, vi } from 'vitest';
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
