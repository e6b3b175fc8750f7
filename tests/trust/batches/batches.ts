import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startPostgres } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { READER, schemaSql } from './calls.ts';
import { runBatches } from './run.ts';

const USAGE = `Usage: npm run test:batches [-- --calls N --seed N] [--json]

Calls of 5 keys and 25 capabilities (brief, long, failing, cancelled, timed out, too large, rows of their key alone, and
some that may share transactions) share 3 database connections that are killed, cut, silenced and cancelled all the time. Each of N calls (default 200000) must end
with its own answer. Ends with 1 when one does not, or anything is left behind.
`;

const DATABASE = 'batches';

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    calls: { type: 'string', default: '200000' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      calls: wholeNumber('calls', values.calls, 100_000_000),
      seed: wholeNumber('seed', values.seed, 2 ** 31),
      json: values.json,
    };
  });
  if (typeof read === 'number') return read;
  const { calls, seed, json } = read;
  process.stderr.write(`seed ${seed}\n`);
  const postgres = await startPostgres();
  try {
    await postgres.createDatabase(DATABASE);
    await postgres.execute(DATABASE, schemaSql().join(';\n'));
    await postgres.execute(DATABASE, `create role ${READER} login password '${READER}'`);
    const report = await runBatches({
      calls,
      seed,
      server: { ...postgres, name: DATABASE },
      progress: (made) => process.stderr.write(`${made} of ${calls} calls\n`),
    });
    process.stdout.write(`${json ? JSON.stringify({ seed, ...report }) : described(report)}\n`);
    return report.wrong.length === 0 ? 0 : 1;
  } finally {
    await postgres.stop();
  }
}

function described({
  calls,
  outcomes,
  faults,
  transactions,
  seconds,
  wrong,
}: Awaited<ReturnType<typeof runBatches>>): string {
  const counted = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  return [
    `${calls} calls in ${seconds.toFixed(0)} s: ${counted(outcomes)}`,
    `meanwhile: ${counted(faults)}`,
    `transactions: ${counted({ ...transactions })}`,
    ...(wrong.length === 0 ? ['nothing was wrong'] : wrong),
  ].join('\n');
}
