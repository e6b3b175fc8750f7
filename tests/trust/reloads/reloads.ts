import { parseArgs } from 'node:util';
import { startPostgres } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { runReloads, type ReloadsReport } from './run.ts';

const USAGE = `Usage: npm run test:reloads [-- --reloads N --capabilities N] [--json]

Tells an agent N times (default 200) to load its capability file again while calls come all the time. Every fifth file
each has other rows, a fault, other capabilities, is torn, or is overtaken by the next before it is checked. Ends with 1
when a call fails, anything but the newest good file is served, or memory grows by more than a tenth. --capabilities says
how many the file has (default 30).
`;

const DATABASE = 'reloads';
const GROWTH_MAX = 1.1;

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    reloads: { type: 'string', default: '200' },
    capabilities: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      reloads: wholeNumber('reloads', values.reloads, 100_000),
      capabilities: wholeNumber('capabilities', values.capabilities, 10_000),
      json: values.json,
    };
  });
  if (typeof read === 'number') return read;
  const postgres = await startPostgres();
  try {
    await postgres.createDatabase(DATABASE);
    const report = await runReloads({
      ...read,
      database: { ...postgres, name: DATABASE },
      callers: 8,
      thinkMs: 1,
      progress: (made) => process.stderr.write(`${made} of ${read.reloads} reloads\n`),
    });
    process.stdout.write(`${read.json ? JSON.stringify(report) : described(report)}\n`);
    const isFlat = report.megabytes <= report.earlyMegabytes * GROWTH_MAX;
    return report.wrong.length === 0 && isFlat ? 0 : 1;
  } finally {
    await postgres.stop();
  }
}

function described(report: ReloadsReport): string {
  const { reloaded, refused, calls, wrong, reloadMs, quietP99Ms, p99Ms, earlyMegabytes, megabytes } = report;
  return [
    `${reloaded} reloads, ${refused} refused; ${calls} calls, ${wrong.length === 0 ? 'none' : 'some'} wrong`,
    ...wrong.map((what) => `  ${what}`),
    `a reload: p50 ${reloadMs.p50} ms, p95 ${reloadMs.p95} ms, at most ${reloadMs.most} ms`,
    `a call: p99 ${p99Ms} ms, ${quietP99Ms} ms before the first reload`,
    `memory of the agent: ${megabytes.toFixed(0)} MB in the last fifth of them, ${earlyMegabytes.toFixed(0)} MB once it was warm; may grow by a tenth`,
  ].join('\n');
}
