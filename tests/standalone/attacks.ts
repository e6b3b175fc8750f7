import { startPostgres, withClient } from '@svc/testkit';
import { killParents } from './killed-parents.testing.ts';
import { LIBRARY, libraryFile, libraryFolder } from './library.testing.ts';

export async function main(args: readonly string[]): Promise<number> {
  const postgres = await startPostgres();
  await postgres.createDatabase('library');
  const place = { ...postgres, name: 'library' };
  await withClient(postgres, 'library', async (client) => {
    for (const sql of LIBRARY) await client.query(sql);
  });
  const folder = await libraryFolder(libraryFile(place));
  try {
    const report = await killParents({
      parents: Number(args[0] ?? 50),
      seed: Number(args[1] ?? 1),
      file: folder.file,
      database: place,
      progress: (done) => process.stderr.write(`${done}\n`),
    });
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
    return report.wrong.length;
  } finally {
    await folder.remove();
    await postgres.stop();
  }
}
