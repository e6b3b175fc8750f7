import { readdir, readFile } from 'node:fs/promises';
import { sizeOf } from '@svc/testkit';
import { until, type Fleet } from './fleet.testing.ts';

/** The file descriptors of each replica and each agent. */
export interface Sizes {
  readonly replicas: readonly number[];
  readonly agents: readonly number[];
}

/** Where a process writes or looks something up just now. */
const SLACK = 3;
/** An agent opens as many connections to the database as its calls need. */
const MAX_CONNECTIONS = 10;
/** What balancers keep open for a moment has gone by then. */
const BACK_WITHIN_MS = 15_000;
const LINKED_WITHIN_MS = 20_000;

/** What the fleet holds before anybody has called. An agent that still dials would seem to have leaked its links. */
export async function sizesOnceLinked(fleet: Fleet): Promise<Sizes> {
  const isLinked = ({ process }: Fleet['agents'][number]): boolean =>
    [...process.output().matchAll(/: connected to ws/g)].length >= fleet.replicas.length;
  await until(() => fleet.agents.every(isLinked), LINKED_WITHIN_MS);
  return sizesOf(fleet);
}

/** What the fleet holds now that nobody calls, compared with before anybody had called. Empty on other systems. */
export async function leaksOf(fleet: Fleet, before: Sizes): Promise<readonly string[]> {
  let leaks: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    const after = await sizesOf(fleet);
    const grown = (name: string, was: readonly number[], is: readonly number[], slack: number): string[] =>
      is.flatMap((count, index) =>
        count > (was[index] ?? 0) + slack
          ? [`${name} ${index}: ${was[index]} descriptors, then ${count}`]
          : [],
      );
    leaks = [
      ...grown('replica', before.replicas, after.replicas, SLACK),
      ...grown('agent', before.agents, after.agents, SLACK + MAX_CONNECTIONS),
    ];
    return leaks.length === 0;
  };
  await until(look, BACK_WITHIN_MS).catch(() => {});
  return leaks;
}

async function sizesOf({ replicas, agents }: Fleet): Promise<Sizes> {
  const descriptors = async ({
    process,
  }: Fleet['agents'][number] | Fleet['replicas'][number]): Promise<number> =>
    (await sizeOf(process)).descriptors;
  return {
    replicas: await Promise.all(replicas.map(descriptors)),
    agents: await Promise.all(agents.map(descriptors)),
  };
}

/** The processes of the system that descend from one of these, those that are gone included. Linux only. */
export async function descendantsOf(roots: readonly number[]): Promise<readonly number[]> {
  const groups = new Set(roots);
  const found: number[] = [];
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Each process of ours leads a group, which its children belong to for as long as they live.
    if (state !== 'Z' && groups.has(Number(group))) found.push(Number(entry));
  }
  return found;
}
