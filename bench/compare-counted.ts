import { setTimeout as pause } from 'node:timers/promises';
import { withClient, type Postgres } from '@svc/testkit';
import type { Case } from './compare-cases.ts';
import { POINT } from './compare-figures.ts';
import { BOOKS_DATABASE } from './contestants/books.ts';
import type { Contestant, ContestantName } from './contestants/contestant.ts';
import { privateMegabytes, writeCalls } from './load/process-tree.ts';

/** What is counted once, when all rounds are over. */
export interface Counted {
  /** Private memory of each process, in units of 1,048,576 bytes. */
  readonly memory: Readonly<Partial<Record<ContestantName, Readonly<Record<string, number>>>>>;
  /** Of one call of one row at 32 connections; undefined when ours was not measured. */
  readonly rollbacks: number | undefined;
  readonly agentWrites: number | undefined;
}

const SAMPLES = 6;
/** A session of PostgreSQL tells what it did within ten seconds after it has become idle. */
const TOLD_MS = 11_000;
const SECONDS = 5;

export async function count(
  contestants: readonly Contestant[],
  cases: readonly Case[],
  postgres: Postgres,
): Promise<Counted> {
  const samples = [await memories(contestants)];
  while (samples.length < SAMPLES) {
    await pause(TOLD_MS / (SAMPLES - 1));
    samples.push(await memories(contestants));
  }
  // What memory was put to use for a moment is given back later, or collected.
  const memory = Object.fromEntries(
    contestants.map(({ name, processes }) => [
      name,
      Object.fromEntries(
        Object.keys(processes).map((process) => [
          process,
          Math.min(...samples.map((sample) => sample.get(name)?.get(process) ?? Number.NaN)),
        ]),
      ),
    ]),
  );
  return { memory, ...(await countCalls(cases, postgres)) };
}

async function memories(
  contestants: readonly Contestant[],
): Promise<ReadonlyMap<ContestantName, ReadonlyMap<string, number>>> {
  const all = contestants.map(async ({ name, processes }) => {
    const each = Object.entries(processes).map(
      async ([process, root]) => [process, await privateMegabytes(root)] as const,
    );
    return [name, new Map(await Promise.all(each))] as const;
  });
  return new Map(await Promise.all(all));
}

async function countCalls(
  cases: readonly Case[],
  postgres: Postgres,
): Promise<Pick<Counted, 'rollbacks' | 'agentWrites'>> {
  const ours = cases.find(
    ({ name, workload, face }) => name === 'svc' && workload.name === POINT.workload && face === POINT.face,
  );
  const agent = ours?.processes['agent'];
  if (ours === undefined || agent === undefined) return { rollbacks: undefined, agentWrites: undefined };
  const [rollbacksBefore, writesBefore] = [await rollbacks(postgres), await writeCalls(agent)];
  const { calls } = await ours.run(SECONDS);
  const agentWrites = ((await writeCalls(agent)) - writesBefore) / calls;
  await pause(TOLD_MS);
  return { agentWrites, rollbacks: ((await rollbacks(postgres)) - rollbacksBefore) / calls };
}

async function rollbacks(postgres: Postgres): Promise<number> {
  const sql = 'select xact_rollback::float8 as count from pg_stat_database where datname = $1';
  const { rows } = await withClient(postgres, 'postgres', (client) =>
    client.query<{ count: number }>(sql, [BOOKS_DATABASE]),
  );
  return rows[0]?.count ?? Number.NaN;
}
