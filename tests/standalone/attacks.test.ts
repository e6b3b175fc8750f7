import { testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, expect, test } from 'vitest';
import { raceCancels } from './cancels.testing.ts';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { reloadUnderLoad } from './reloads.testing.ts';
import { folderOf } from './scene.testing.ts';
import { compareSequences } from './sequences.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

// `npm run test:stdio` makes the same attacks for longer.
test('no cancel of a call ends another, or has a wrong answer given', async () => {
  const { file } = await folderOf(libraryFile(database));
  const report = await raceCancels({ cancels: 500, seed: 5, file });
  expect(report).toMatchObject({ cancelled: 500, wrong: [] });
  expect(report.answered).toBeGreaterThan(0);
});

test('random sequences of requests have the same answers as from /mcp of svc serve, byte for byte', async () => {
  const { file } = await folderOf(libraryFile(database));
  const report = await compareSequences({ sequences: 20, seed: 5, file });
  expect(report.unequal).toEqual([]);
  expect(report.requests).toBeGreaterThan(20);
});

test('reloads fail no call, and tell this caller of each change of its list and of nothing else', async () => {
  const text = libraryFile(database);
  const { file } = await folderOf(text);
  const report = await reloadUnderLoad({ reloads: 6, seed: 4, file, text });
  expect(report.wrong).toEqual([]);
  expect(report.changes).toBeGreaterThan(0);
  expect(report.refused).toBeGreaterThan(0);
});
