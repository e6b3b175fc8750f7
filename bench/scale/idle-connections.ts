import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { sizeOf, type Service } from '@svc/testkit';
import { load, type Load } from '../load/wrk.ts';
import { startChild } from './child.ts';
import type { HolderOrder } from './idle-holder.ts';
import { pointCalls, pointQueries, startLibrary } from './library.ts';
import { measureLoad, type Measured } from './measured.ts';
import {
  atLeast,
  atMost,
  figure,
  grouped,
  type Figure,
  type Measurement,
  type Row,
  type Scale,
} from './row.ts';

const KINDS = [
  { count: 100, greets: true },
  { count: 1000, greets: true },
  { count: 10_000, greets: true },
  { count: 10_000, greets: false },
] as const;
const CONNECTIONS = 16;
const GOAL_MB = 200;
/** What "unaffected" is taken to mean, of throughput and of p99. */
const UNAFFECTED = { throughput: 0.9, p99: 1.1 };
/** Files that the gateway and the holder open besides. */
const OTHER_FILES = 200;

const MEMORY = 'memory of the gateway, the greatest seen';
const THROUGHPUT = 'throughput of an active caller beside them';
const P99 = 'p99 of an active caller beside them';
const CPU = 'CPU of its calls beside them';

export const idleConnections: Row = {
  name: 'idle-connections',
  title: 'Idle connections',
  chart: { xAxis: 'idle connections, after one request each', yAxis: 'MB', lines: [MEMORY] },
  measure,
};

type Kind = (typeof KINDS)[number];

interface Held {
  readonly without: Measured;
  readonly beside: Measured;
  readonly megabytes: number;
  readonly openAfter: number;
}

async function measure(scale: Scale): Promise<Measurement> {
  const services: {
    readonly kind: Kind;
    readonly service: Service;
    readonly calls: Load;
    readonly held: Held[];
  }[] = [];
  const notes = [
    `Point queries at ${CONNECTIONS} connections, closed loop; the ratio is to the same gateway without idle connections, in the same round.`,
    'The gateway ends a connection that sends nothing after 10 s, and one that was used after 65 s.',
  ];
  for (const kind of KINDS) {
    const service = await startLibrary(scale, pointQueries(1));
    const limit = Math.min(await openFilesLimit(service.gateway), await openFilesLimit(process));
    if (limit < kind.count + OTHER_FILES) {
      notes.push(
        `NOT MEASURED: ${described(kind)}, since a process may have ${limit} files open here; raise the hard limit (ulimit -Hn) and start again.`,
      );
      continue;
    }
    const calls = pointCalls(service, CONNECTIONS);
    services.push({ kind, service, calls, held: [] });
    await load(calls, scale.seconds);
  }
  for (let round = 1; round <= scale.rounds; round++) {
    scale.say(`round ${round} of ${scale.rounds}`);
    for (const { kind, service, calls, held } of services) {
      const measure = (): Promise<Measured> => measureLoad(scale, service, [calls]);
      // Every other round has the idle connections first, so that neither load is always the later one.
      const before = round % 2 === 0 ? undefined : await measure();
      const beside = await measureBeside(service, kind, measure);
      held.push({ ...beside, without: before ?? (await measure()) });
    }
  }
  const figures = services.flatMap(({ kind, held }) => figuresOf(kind, held));
  for (const { kind, held } of services) {
    const fewest = Math.min(...held.map(({ openAfter }) => openAfter));
    if (fewest < kind.count)
      notes.push(`Of ${described(kind)} only ${grouped(fewest)} were open at the end of a round.`);
  }
  return { figures, notes, isComplete: services.length === KINDS.length };
}

async function measureBeside(
  service: Service,
  kind: Kind,
  measure: () => Promise<Measured>,
): Promise<Omit<Held, 'without'>> {
  const { port, gateway } = service;
  const { descriptors } = await sizeOf(gateway);
  const holder = await startChild<HolderOrder, number>('idle-holder.ts');
  try {
    const open = await holder.ask({ port, ...kind });
    if (open !== kind.count) throw new Error(`cannot hold ${kind.count} connections: ${open} are open`);
    const idle = await sizeOf(gateway);
    const beside = await measure();
    const loaded = await sizeOf(gateway);
    const openAfter = await holder.ask({ port, ...kind, count: 0 });
    return { beside, megabytes: Math.max(idle.megabytes, loaded.megabytes), openAfter };
  } finally {
    await holder.stop();
    await closed(gateway, descriptors);
  }
}

/** Resolves once the gateway has let go of the connections, or after ten seconds. */
async function closed(gateway: Service['gateway'], descriptors: number): Promise<void> {
  for (let waited = 0; waited < 10_000; waited += 100) {
    const size = await sizeOf(gateway).catch(() => undefined);
    // Nothing is left of one that has ended.
    if (size === undefined || size.descriptors <= descriptors + CONNECTIONS) return;
    await pause(100);
  }
}

function figuresOf(kind: Kind, held: readonly Held[]): readonly Figure[] {
  const size = described(kind);
  const isLargest = kind.count === 10_000;
  const compared = (
    what: string,
    of: 'callsPerSecond' | 'p99Ms' | 'cpu',
    unit: string,
    goal?: Figure['goal'],
  ): Figure => {
    const base = held.map(({ without }) => without[of]);
    const values = held.map(({ beside }) => beside[of]);
    return figure(what, size, unit, values, { base, goal: isLargest ? goal : undefined });
  };
  return [
    {
      what: MEMORY,
      size,
      at: kind.greets ? kind.count : undefined,
      value: Math.max(...held.map(({ megabytes }) => megabytes)),
      unit: 'MB',
      goal: isLargest ? atMost('value', GOAL_MB) : undefined,
    },
    compared(THROUGHPUT, 'callsPerSecond', 'calls/s', atLeast('ratio', UNAFFECTED.throughput)),
    compared(P99, 'p99Ms', 'ms', atMost('ratio', UNAFFECTED.p99)),
    compared(CPU, 'cpu', 'us'),
  ];
}

function described({ count, greets }: Kind): string {
  return `${grouped(count)} connections, ${greets ? 'used once' : 'silent'}`;
}

/** Node.js raises its own soft limit to the hard one; what it then has counts. */
async function openFilesLimit({ pid }: { readonly pid: number }): Promise<number> {
  const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}
