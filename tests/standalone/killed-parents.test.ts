import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import { killParents } from './killed-parents.testing.ts';
import { LIBRARY, libraryFile, libraryFolder } from './library.testing.ts';

test('a killed client, or a killed svc, leaves no process and no query', async ({ skip, onTestFinished }) => {
  skip(process.platform !== 'linux', 'processes are found in /proc');
  const database = await testDatabase({ sql: LIBRARY });
  skip((await database.version()) < 140_000, 'before PostgreSQL 14 the server does not look');
  const folder = await libraryFolder(libraryFile(database));
  onTestFinished(() => folder.remove());
  // Five times the promise, which `npm run test:stdio` holds it to: here other tests run at the same time.
  const report = await killParents({ parents: 12, seed: 2, file: folder.file, database, withinMs: 12_500 });
  expect(report).toMatchObject({ killed: 12, wrong: [] });
});
