import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  findProgram,
  runProcess,
  type Postgres,
  type RunningProcess,
  type TemporaryFolder,
} from '@svc/testkit';
import type { Workload } from './compare-workloads.ts';
import { BOOKS_DATABASE, normalisedRow, QUERIES, type Query } from './contestants/books.ts';
import {
  DATABASE_CONNECTIONS,
  type Contestant,
  type ContestantName,
  type Face,
} from './contestants/contestant.ts';
import { load, type LoadResult } from './load/wrk.ts';

export interface Case {
  readonly workload: Workload;
  readonly name: ContestantName;
  readonly contestant: string;
  readonly face: string;
  readonly processes: Readonly<Record<string, RunningProcess>>;
  run(seconds: number): Promise<LoadResult>;
}

const BODIES = 2000;
/**
 * After callers have gone away, as all do at the end of a measurement, MCP Toolbox has been seen to answer a few
 * of the next calls with an error of its database connection. That is reported, and no reason to stop.
 */
const TOLERATED_OF_PEERS = 0.02;

export function casesOf(workload: Workload, contestants: readonly Contestant[]): readonly Case[] {
  return contestants
    .filter(({ name }) => workload.contestants.includes(name))
    .flatMap((contestant) =>
      contestant.faces
        .filter(({ kind }) => kind === workload.kind)
        .map((face) => caseOf(workload, contestant, face)),
    );
}

function caseOf(workload: Workload, contestant: Contestant, face: Face): Case {
  const { query, connections } = workload;
  const { most } = QUERIES[query];
  const bodies = Array.from({ length: BODIES }, () => face.body(query, 1 + Math.floor(Math.random() * most)));
  const { url } = contestant;
  const tolerated = contestant.name.startsWith('svc') ? 0 : TOLERATED_OF_PEERS;
  return {
    workload,
    name: contestant.name,
    contestant: contestant.title,
    face: face.title,
    processes: contestant.processes,
    run: (seconds) =>
      load(
        { url, path: face.path(query), connections, headers: face.headers(query), bodies, tolerated },
        seconds,
      ),
  };
}

export function pgbenchCase(workload: Workload, postgres: Postgres, folder: TemporaryFolder): Case {
  return {
    workload,
    name: 'pgbench',
    contestant: `pgbench, ${DATABASE_CONNECTIONS} clients`,
    face: '',
    processes: {},
    run: async (seconds) => ({
      ...(await runPgbench(postgres, folder, seconds)),
      failed: 0,
      failure: '',
      p50Ms: Number.NaN,
      p99Ms: Number.NaN,
      generatorMicroseconds: Number.NaN,
    }),
  };
}

export async function answerOf(
  { title, url }: Contestant,
  face: Face,
  query: Query,
  value: number,
): Promise<string> {
  const { status, text } = await ask(`${url}${face.path(query)}`, {
    method: 'POST',
    headers: face.headers(query),
    body: face.body(query, value),
  });
  if (status !== 200) throw new Error(`cannot call ${title}, ${face.title}: ${status} ${text}`);
  return text;
}

/**
 * Throws unless all answer the same rows, as many as there must be, to the first, the last and others between; and
 * unless those that want a key refuse calls without it.
 */
export async function checkAnswers(contestants: readonly Contestant[]): Promise<void> {
  for (const contestant of contestants) if (contestant.wantsKey) await checkKey(contestant);
  for (const query of ['point', 'list'] as const) {
    const { most } = QUERIES[query];
    const expected = query === 'point' ? 1 : 100;
    for (const value of [1, 2, 97, 500, most - 1, most]) {
      let first: string | undefined;
      for (const contestant of contestants) {
        for (const face of contestant.faces) {
          if (face.rows === undefined) continue;
          const rows = face.rows(await answerOf(contestant, face, query, value)).map(normalisedRow);
          const text = rows.join('\n');
          first ??= text;
          if (text === first && rows.length === expected) continue;
          throw new Error(
            `cannot compare: ${contestant.title}, ${face.title} answers ${query} ${value} with\n${text}\nand not\n${first}`,
          );
        }
      }
    }
  }
}

async function checkKey({ title, url, faces }: Contestant): Promise<void> {
  for (const face of faces) {
    const { authorization: key = '', ...others } = face.headers('point');
    for (const headers of [others, { ...others, authorization: `${key.slice(0, -1)}-` }]) {
      const { status } = await ask(`${url}${face.path('point')}`, {
        method: 'POST',
        headers,
        body: face.body('point', 1),
      });
      if (key !== '' && status === 401) continue;
      throw new Error(`cannot compare: ${title}, ${face.title} answers ${status} to a call without its key`);
    }
  }
}

export function whyNoPgbench(): string | undefined {
  if (findProgram('pgbench') !== undefined) return undefined;
  return 'pgbench is not installed; install it (Debian: apt-get install postgresql-contrib)';
}

/** The point query by pgbench itself for so many seconds; it tells the average latency and no percentiles. */
async function runPgbench(
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
