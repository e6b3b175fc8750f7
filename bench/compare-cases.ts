import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  findProgram,
  runProcess,
  temporaryFolder,
  type Postgres,
  type Releasers,
  type RunningProcess,
} from '@svc/testkit';
import type { Workload } from './contestants/workloads.ts';
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
  const { query, connections } = workload;
  const value = (): number => 1 + Math.floor(Math.random() * QUERIES[query].most);
  return contestants
    .filter(({ name }) => workload.contestants.includes(name))
    .flatMap(({ name, title, url, processes, faces }) =>
      faces
        .filter(({ kind }) => kind === workload.kind)
        .map((face) => {
          const bodies = Array.from({ length: BODIES }, () => face.body(query, value()));
          const target = { url, path: face.path(query), headers: face.headers(query) };
          const tolerated = name.startsWith('svc') ? 0 : TOLERATED_OF_PEERS;
          return {
            workload,
            name,
            contestant: title,
            face: face.title,
            processes,
            run: (seconds) => load({ ...target, connections, bodies, tolerated }, seconds),
          };
        }),
    );
}

export async function answerOf(
  contestant: Contestant,
  face: Face,
  query: Query,
  value: number,
): Promise<string> {
  const { status, text } = await post(contestant, face, query, value);
  if (status !== 200) throw new Error(`cannot call ${contestant.title}, ${face.title}: ${status} ${text}`);
  return text;
}

function post(
  { url }: Contestant,
  face: Face,
  query: Query,
  value: number,
  headers = face.headers(query),
): ReturnType<typeof ask> {
  return ask(`${url}${face.path(query)}`, { method: 'POST', headers, body: face.body(query, value) });
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

async function checkKey(contestant: Contestant): Promise<void> {
  for (const face of contestant.faces) {
    const { authorization: key = '', ...others } = face.headers('point');
    for (const headers of [others, { ...others, authorization: `${key.slice(0, -1)}-` }]) {
      const { status } = await post(contestant, face, 'point', 1, headers);
      if (key !== '' && status === 401) continue;
      const called = `${contestant.title}, ${face.title}`;
      throw new Error(`cannot compare: ${called} answers ${status} to a call without its key`);
    }
  }
}

export function whyNoPgbench(): string | undefined {
  if (findProgram('pgbench') !== undefined) return undefined;
  return 'pgbench is not installed; install it (Debian: apt-get install postgresql-contrib)';
}

/** The point query by pgbench itself; it tells the average latency and no percentiles. */
export async function pgbenchCase(
  workload: Workload,
  { host, port, user, password }: Postgres,
  releasers: Releasers,
): Promise<Case> {
  const folder = await temporaryFolder('pgbench');
  await releasers.add(() => folder.remove());
  const { most, parameter, sql } = QUERIES.point;
  const script = join(folder.path, 'point.sql');
  await writeFile(script, `\\set ${parameter} random(1, ${most})\n${sql.replace('$1', `:${parameter}`)};\n`);
  const program = findProgram('pgbench') ?? 'pgbench';
  const server = ['-h', host, '-p', String(port), '-U', user, BOOKS_DATABASE];
  return {
    workload,
    name: 'pgbench',
    contestant: `pgbench, ${DATABASE_CONNECTIONS} clients`,
    face: '',
    processes: {},
    async run(seconds) {
      const args = [
        '-n',
        '-Mprepared',
        `-c${DATABASE_CONNECTIONS}`,
        `-T${seconds}`,
        `-f${script}`,
        ...server,
      ];
      const options = { env: { PGPASSWORD: password }, withinMs: (seconds + 30) * 1000 };
      const { code, stdout, stderr } = await runProcess(program, args, options);
      const calls = Number(/actually processed: (\d+)/.exec(stdout)?.[1]);
      const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
      if (code !== 0 || !(calls > 0) || !(perSecond > 0)) {
        throw new Error(`cannot measure with pgbench: it ended with ${code}\n${stdout}${stderr}`);
      }
      return {
        calls,
        failed: 0,
        failure: '',
        seconds: calls / perSecond,
        p50Ms: Number.NaN,
        p99Ms: Number.NaN,
      };
    },
  };
}
