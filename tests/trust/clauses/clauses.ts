import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createRandom, startPostgres } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { tryFilters } from './filters.ts';
import { tryPages } from './pages.ts';

const USAGE = `Usage: npm run test:clauses [-- --filters N --pages N --cursors N --seed N]

Random texts as filters: svc-agent refuses each, or PostgreSQL takes it as one condition, whatever stands beside it.
Walks through lists, page after page, by random filters and orders while another connection writes: each row that
stays is seen once and in its place. Cursors that were altered: refused, or answered with rows of the list.
Ends with 1 when anything was wrong.
`;

const DATABASE = 'clauses';

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    filters: { type: 'string', default: '300000' },
    pages: { type: 'string', default: '100000' },
    cursors: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      filters: wholeNumber('filters', values.filters, 100_000_000),
      pages: wholeNumber('pages', values.pages, 100_000_000),
      cursors: wholeNumber('cursors', values.cursors, 100_000_000),
      seed: wholeNumber('seed', values.seed, 2 ** 31),
    };
  });
  if (typeof read === 'number') return read;
  const { filters, pages, cursors, seed } = read;
  process.stderr.write(`seed ${seed}\n`);
  const postgres = await startPostgres();
  try {
    await postgres.createDatabase(DATABASE);
    const scene = {
      server: { ...postgres, name: DATABASE },
      execute: (sql: string) => postgres.execute(DATABASE, sql),
      random: createRandom(seed),
      progress: (text: string) => process.stderr.write(`${text}\n`),
    };
    const wrong: string[] = [];
    const ofFilters = await tryFilters(scene, filters, wrong);
    process.stdout.write(
      `${filters} filters: ${ofFilters.taken} taken, each as one condition; ${ofFilters.refused} refused\n`,
    );
    const ofPages = await tryPages(scene, { pages, cursors }, wrong);
    process.stdout.write(
      `${ofPages.pages} pages of ${ofPages.walks} walks, ${ofPages.writes} writes between; ${cursors} altered cursors: ${ofPages.refused} refused, ${ofPages.answered} answered with rows of the list\n`,
    );
    process.stdout.write(wrong.length === 0 ? 'nothing was wrong\n' : `${wrong.slice(0, 20).join('\n')}\n`);
    return wrong.length === 0 ? 0 : 1;
  } finally {
    await postgres.stop();
  }
}
