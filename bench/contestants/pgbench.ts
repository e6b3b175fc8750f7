import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, runProcess, type Postgres, type TemporaryFolder } from '@svc/testkit';
import { BOOKS_DATABASE, QUERIES } from './books.ts';
import { DATABASE_CONNECTIONS } from './contestant.ts';

export function whyNoPgbench(): string | undefined {
  if (findProgram('pgbench') !== undefined) return undefined;
  return 'pgbench is not installed; install it (Debian: apt-get install postgresql-contrib)';
}

/** The point query by pgbench itself for so many seconds; it tells the average latency and no percentiles. */
export async function runPgbench(
  { host, port, user, password }: Postgres,
  folder: TemporaryFolder,
  seconds: number,
): Promise<{ readonly calls: number; readonly seconds: number }> {
  const { most, parameter, sql } = QUERIES.point;
  const script = join(folder.path, 'point.sql');
  await writeFile(script, `\\set ${parameter} random(1, ${most})\n${sql.replace('$1', `:${parameter}`)};\n`);
  const run = ['-n', '-Mprepared', `-c${DATABASE_CONNECTIONS}`, `-T${seconds}`, `-f${script}`];
  const server = ['-h', host, '-p', String(port), '-U', user, BOOKS_DATABASE];
  const { code, stdout, stderr } = await runProcess(
    findProgram('pgbench') ?? 'pgbench',
    [...run, ...server],
    {
      env: { PGPASSWORD: password },
      withinMs: (seconds + 30) * 1000,
    },
  );
  const calls = Number(/actually processed: (\d+)/.exec(stdout)?.[1]);
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
  if (code !== 0 || !(calls > 0) || !(perSecond > 0)) {
    throw new Error(`cannot measure with pgbench: it ended with ${code}\n${stdout}${stderr}`);
  }
  return { calls, seconds: calls / perSecond };
}
