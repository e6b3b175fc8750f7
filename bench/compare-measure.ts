import { createRandom, type RunningProcess } from '@svc/testkit';
import type { Case } from './compare-cases.ts';
import type { ContestantName } from './contestants/contestant.ts';
import {
  idleMicroseconds,
  processMicroseconds,
  shareOfOthers,
  treeMicroseconds,
  type Root,
} from './load/process-tree.ts';
import type { LoadResult } from './load/wrk.ts';
import { shuffled } from './report/statistics.ts';

/** One measurement of a case. What a contestant does not have, or does not tell, is NaN. */
export interface Slot extends Omit<LoadResult, 'seconds'> {
  readonly round: number;
  /** What share of the machine went to processes that have no part in it, and to the kernel's own. */
  readonly others: number;
  /** It does not count; it was repeated, unless it is the last of its round. */
  readonly isVoid: boolean;
  readonly callsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly databaseMicroseconds: number;
  /** Of the load generator and of this program, which reads what the contestants print, per call. */
  readonly generatorMicroseconds: number;
  /** CPU of each process of the contestant, in microseconds per call. */
  readonly processes: Readonly<Record<string, number>>;
}

/** What was measured of a case, in the form of docs/performance/bench.json. */
export interface MeasuredCase {
  readonly workload: string;
  readonly title: string;
  readonly connections: number;
  readonly name: ContestantName;
  readonly contestant: string;
  readonly face: string;
  /** All, in the order in which they were measured. */
  readonly slots: readonly Slot[];
}

export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
  /** Decides the order of the slots. */
  readonly seed: number;
}

/** What a server still does for callers who have gone must not count for the next. */
const PAUSE_MS = 150;
/** Of each case at least, and of all cases of a contestant together: code is compiled while it runs. */
const WARM_UP_SECONDS = { each: 2, together: 8 };

export const MOST_OF_OTHERS = 0.05;
const REPEATS = 3;

/**
 * Warms up, then measures every case once per round, void slots again. The order is drawn in each round: that of the
 * workloads, and within each that of its cases, so that those that are compared are measured soon after each other.
 * `database` is the process whose CPU counts as that of the database, if there is one.
 */
export async function measure(
  cases: readonly Case[],
  database: Root | undefined,
  { rounds, seconds, seed }: Rounds,
  progress: (line: string) => void,
): Promise<readonly MeasuredCase[]> {
  const each = Math.round(cases.length * (seconds + 2 * (PAUSE_MS / 1000)));
  progress(`warming up; then ${rounds} rounds of some ${each} s, in an order drawn with seed ${seed}`);
  for (const each of cases) await watched(each, each.run(warmUpSeconds(each, cases)));
  const random = createRandom(seed);
  const workloads = [...new Set(cases.map((each) => each.workload))];
  const slots = new Map<Case, Slot[]>(cases.map((each) => [each, []]));
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const workload of shuffled(workloads, random)) {
      const group = cases.filter((each) => each.workload === workload);
      for (const each of shuffled(group, random)) {
        const measured = await measureUntilQuiet(() => measureOnce(each, database, { round, seconds }));
        slots.get(each)?.push(...measured);
      }
    }
  }
  return [...slots].map(([{ workload, name, contestant, face }, slots]) => ({
    workload: workload.name,
    title: workload.title,
    connections: workload.connections,
    name,
    contestant,
    face,
    slots,
  }));
}

/** All slots that it took: only the last may count. */
export async function measureUntilQuiet<S extends Pick<Slot, 'isVoid'>>(
  once: () => Promise<S>,
): Promise<readonly S[]> {
  const slots = [await once()];
  while (slots.at(-1)?.isVoid === true && slots.length <= REPEATS) slots.push(await once());
  return slots;
}

async function measureOnce(
  each: Case,
  database: Root | undefined,
  { round, seconds }: { readonly round: number; readonly seconds: number },
): Promise<Slot> {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  const processes = Object.entries(each.processes);
  const usage = async () => ({
    milliseconds: performance.now(),
    idle: await idleMicroseconds(),
    // The load generator is a child of this program, and has ended when it is looked at again.
    generator: await processMicroseconds(process.pid),
    database: database === undefined ? Number.NaN : await treeMicroseconds(database),
    processes: await Promise.all(processes.map(([, process]) => treeMicroseconds(process))),
  });
  const before = await usage();
  const { seconds: took, ...result } = await watched(each, each.run(seconds));
  const after = await usage();
  const spent = (of: 'milliseconds' | 'idle' | 'generator' | 'database'): number => after[of] - before[of];
  const used = after.processes.map((microseconds, at) => microseconds - (before.processes[at] ?? 0));
  const service = used.reduce((sum, microseconds) => sum + microseconds, 0);
  const known = service + spent('generator') + (database === undefined ? 0 : spent('database'));
  const others = shareOfOthers({ milliseconds: spent('milliseconds'), idle: spent('idle'), known });
  const { calls } = result;
  return {
    ...result,
    round,
    others,
    isVoid: others > MOST_OF_OTHERS,
    callsPerSecond: calls / took,
    cpuMicroseconds: used.length === 0 ? Number.NaN : service / calls,
    databaseMicroseconds: spent('database') / calls,
    generatorMicroseconds: spent('generator') / calls,
    processes: Object.fromEntries(processes.map(([name], at) => [name, (used[at] ?? 0) / calls])),
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

function warmUpSeconds({ contestant }: Case, cases: readonly Case[]): number {
  const share = WARM_UP_SECONDS.together / cases.filter((each) => each.contestant === contestant).length;
  return Math.max(WARM_UP_SECONDS.each, Math.ceil(share));
}
