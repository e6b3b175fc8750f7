import type { RunningProcess } from '@svc/testkit';
import type { Case } from './compare-cases.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { treeMegabytes, treeMicroseconds, type Root } from './load/process-tree.ts';
import type { LoadResult } from './load/wrk.ts';
import { rotated } from './report/statistics.ts';

/** Of one round. What a contestant does not have, or does not tell, is NaN. */
export interface Measured extends Omit<LoadResult, 'seconds'> {
  readonly callsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly databaseMicroseconds: number;
  /** Of the load generator and of this program, which reads what the contestants print, per call. */
  readonly generatorMicroseconds: number;
  /** Resident memory of all its processes after the load, in units of 1,048,576 bytes. */
  readonly memoryMegabytes: number;
  readonly processes: Readonly<Record<string, { cpuMicroseconds: number; memoryMegabytes: number }>>;
}

/** What was measured of a case, in the form of docs/performance/bench.json. */
export interface MeasuredCase {
  readonly workload: string;
  readonly title: string;
  readonly connections: number;
  readonly name: ContestantName;
  readonly contestant: string;
  readonly face: string;
  readonly rounds: readonly Measured[];
}

/** What a server still does for callers who have gone must not count for the next. */
const PAUSE_MS = 150;
/** Of each case at least, and of all cases of a contestant together: code is compiled while it runs. */
const WARM_UP_SECONDS = { each: 2, together: 8 };

/**
 * Warms up, then measures every case once per round; contestants take turns in going first. `database` is the process
 * whose CPU counts as that of the database, if there is one.
 */
export async function measure(
  cases: readonly Case[],
  database: Root | undefined,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  progress: (line: string) => void,
): Promise<readonly MeasuredCase[]> {
  const each = Math.round(cases.length * (seconds + 2 * (PAUSE_MS / 1000)));
  progress(`warming up; then ${rounds} rounds of some ${each} s`);
  for (const each of cases) await watched(each, each.run(warmUpSeconds(each, cases, seconds)));
  const results = new Map<Case, Measured[]>(cases.map((each) => [each, []]));
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const workload of new Set(cases.map((each) => each.workload))) {
      const group = cases.filter((each) => each.workload === workload);
      for (const each of rotated(group, round)) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        results.get(each)?.push(await measureOnce(each, database, seconds));
      }
    }
  }
  return [...results].map(([{ workload, name, contestant, face }, rounds]) => ({
    workload: workload.name,
    title: workload.title,
    connections: workload.connections,
    name,
    contestant,
    face,
    rounds,
  }));
}

async function measureOnce(each: Case, database: Root | undefined, seconds: number): Promise<Measured> {
  const processes = Object.entries(each.processes);
  const cpu = (): Promise<readonly number[]> =>
    Promise.all([
      database === undefined ? Number.NaN : treeMicroseconds(database),
      ...processes.map(([, process]) => treeMicroseconds(process)),
    ]);
  const [databaseBefore = 0, ...before] = await cpu();
  const ownBefore = process.cpuUsage();
  const { seconds: took, ...result } = await watched(each, each.run(seconds));
  const { calls } = result;
  const own = process.cpuUsage(ownBefore);
  const [databaseAfter = 0, ...after] = await cpu();
  const memory = await Promise.all(processes.map(([, process]) => treeMegabytes(process)));
  const used = processes.map(([name], at) => ({
    name,
    cpuMicroseconds: ((after[at] ?? 0) - (before[at] ?? 0)) / calls,
    memoryMegabytes: memory[at] ?? 0,
  }));
  const total = (of: (one: (typeof used)[number]) => number): number =>
    used.length === 0 ? Number.NaN : used.reduce((sum, one) => sum + of(one), 0);
  return {
    ...result,
    callsPerSecond: calls / took,
    cpuMicroseconds: total((one) => one.cpuMicroseconds),
    databaseMicroseconds: (databaseAfter - databaseBefore) / calls,
    generatorMicroseconds: result.generatorMicroseconds + (own.user + own.system) / calls,
    memoryMegabytes: total((one) => one.memoryMegabytes),
    processes: Object.fromEntries(used.map(({ name, ...figures }) => [name, figures])),
  };
}

/** Rejects when a process of the contestant ends in the meantime, with its last words. */
async function watched<T>({ workload, contestant, face, processes }: Case, work: Promise<T>): Promise<T> {
  const died = Object.entries(processes).map(([name, process]) => death(name, process));
  try {
    return await Promise.race([work, ...died]);
  } catch (error) {
    throw new Error(`cannot measure ${workload.name}, ${contestant}, ${face}`, { cause: error });
  }
}

async function death(name: string, process: RunningProcess): Promise<never> {
  const { code, signal } = await process.exited;
  const tail = process.output().trimEnd().split('\n').slice(-20).join('\n');
  throw new Error(`${name} has ended with ${signal ?? code}; its output ends:\n${tail}`);
}

/** No more than two measurements take. */
function warmUpSeconds({ contestant }: Case, cases: readonly Case[], seconds: number): number {
  const share = WARM_UP_SECONDS.together / cases.filter((each) => each.contestant === contestant).length;
  return Math.min(2 * seconds, Math.max(WARM_UP_SECONDS.each, Math.ceil(share)));
}
