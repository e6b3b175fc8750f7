import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startPostgres, withClient } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../trust/read-or-usage.ts';
import { raceCancels } from './cancels.testing.ts';
import { killParents } from './killed-parents.testing.ts';
import { LIBRARY, libraryFile, libraryFolder } from './library.testing.ts';
import { reloadUnderLoad } from './reloads.testing.ts';
import { compareSequences } from './sequences.testing.ts';

const USAGE = `Usage: npm run test:stdio [-- --parents N --cancels N --sequences N --reloads N --within MS --only A,B --seed N]

Attacks \`svc stdio\`: kills its client, or itself, at N random times (default 1000) and looks for processes and queries that
are left after --within milliseconds (default 2500); cancels N calls (default 10000) about when they are answered; sends N random sequences (default 200) to it and to
/mcp of \`svc serve\` and compares the answers; reloads its capability file N times (default 200) under load. Ends
with 1 when an attack has succeeded. --only parents,cancels makes these attacks alone; --seed repeats a run.
`;

const DATABASE = 'library';

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    parents: { type: 'string', default: '1000' },
    cancels: { type: 'string', default: '10000' },
    sequences: { type: 'string', default: '200' },
    reloads: { type: 'string', default: '200' },
    within: { type: 'string', default: '2500' },
    only: { type: 'string', default: 'parents,cancels,sequences,reloads' },
    seed: { type: 'string', default: String(randomInt(1, 1_000_000)) },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      only: values.only.split(','),
      withinMs: wholeNumber('within', values.within, 60_000),
      parents: wholeNumber('parents', values.parents, 100_000),
      cancels: wholeNumber('cancels', values.cancels, 1_000_000),
      sequences: wholeNumber('sequences', values.sequences, 100_000),
      reloads: wholeNumber('reloads', values.reloads, 100_000),
      seed: wholeNumber('seed', values.seed, 1_000_000_000),
    };
  });
  if (typeof read === 'number') return read;
  const { only, withinMs, parents, cancels, sequences, reloads, seed } = read;
  const postgres = await startPostgres();
  try {
    await postgres.createDatabase(DATABASE);
    const database = { ...postgres, name: DATABASE };
    await withClient(postgres, DATABASE, async (client) => {
      for (const sql of LIBRARY) await client.query(sql);
    });
    const text = libraryFile(database);
    const folder = await libraryFolder(text);
    const { file } = folder;
    let isFine = true;
    const tell = (attack: string, report: object, wrong: readonly string[]): void => {
      isFine &&= wrong.length === 0;
      process.stdout.write(`${attack}: ${JSON.stringify(report, undefined, 1)}\n`);
    };
    try {
      const progress = (done: number): unknown =>
        done % 60 === 0 && process.stderr.write(`${done} of ${parents} killed\n`);
      if (only.includes('parents')) {
        const report = await killParents({ parents, seed, file, database, withinMs, progress });
        tell('killed parents', report, report.wrong);
      }
      if (only.includes('cancels')) {
        const report = await raceCancels({ cancels, seed, file });
        tell('cancels', report, report.wrong);
      }
      if (only.includes('sequences')) {
        const report = await compareSequences({ sequences, seed, file });
        tell('sequences', report, report.unequal);
      }
      if (only.includes('reloads')) {
        const report = await reloadUnderLoad({ reloads, seed, file, text });
        tell('reloads', report, report.wrong);
      }
    } finally {
      await folder.remove();
    }
    return isFine ? 0 : 1;
  } finally {
    await postgres.stop();
  }
}
