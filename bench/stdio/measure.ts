import { setTimeout as pause } from 'node:timers/promises';
import { createRandom } from '@svc/testkit';
import { measureUntilQuiet, MOST_OF_OTHERS } from '../compare-measure.ts';
import { normalisedRow, QUERIES } from '../contestants/books.ts';
import {
  countProcesses,
  idleMicroseconds,
  processMicroseconds,
  residentMegabytes,
  shareOfOthers,
  treeMicroseconds,
  type Root,
} from '../load/process-tree.ts';
import { shuffled } from '../report/statistics.ts';
import { startClient, type StdioClient } from './client.ts';
import type { StdioContestant, StdioName } from './contestants.ts';

/** One life of a server. What it was not asked for is NaN. */
export interface StdioSlot {
  readonly round: number;
  /** What share of the machine went to processes that have no part in it, and to the kernel's own. */
  readonly others: number;
  readonly isVoid: boolean;
  /** From its start to the answer of `tools/list`, and to the first row. */
  readonly listMs: number;
  readonly rowsMs: number;
  /** Once it has answered and is asked nothing more: resident memory, and how many processes have it. */
  readonly restMegabytes: number;
  readonly processes: number;
  /** Resident memory after all calls. */
  readonly afterMegabytes: number;
  readonly callsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly databaseMicroseconds: number;
}

export interface MeasuredStdio {
  readonly name: StdioName;
  readonly title: string;
  readonly slots: readonly StdioSlot[];
}

export const CALLS = 10_000;
export const AT_ONCE = 16;
/** Of all calls, those before CPU is counted: code is compiled while it runs. */
const WARM_UP_CALLS = 2000;
/** What a start has used is given back soon after; the least of so many samples is what stays. */
const SAMPLES = 6;
const SAMPLE_MS = 200;

/** Measures every contestant once per round, each time as a new process, void slots again. The order is drawn. */
export async function measureStdio(
  contestants: readonly StdioContestant[],
  database: Root,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
  progress: (line: string) => void,
): Promise<readonly MeasuredStdio[]> {
  const random = createRandom(seed);
  const slots = new Map<StdioContestant, StdioSlot[]>(contestants.map((each) => [each, []]));
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const each of shuffled(contestants, random)) {
      slots.get(each)?.push(...(await measureUntilQuiet(() => measureOnce(each, database, round))));
    }
  }
  return [...slots].map(([{ name, title }, measured]) => ({ name, title, slots: measured }));
}

async function measureOnce(contestant: StdioContestant, database: Root, round: number): Promise<StdioSlot> {
  const before = await usage(database);
  const client = startClient(contestant);
  try {
    const started = await handshake(client, contestant, before.milliseconds);
    const restMegabytes = await settledMegabytes(client);
    const processes = await countProcesses(client);
    const called = contestant.isCalled ? await measureCalls(client, contestant, database) : NOT_CALLED;
    const service = await treeMicroseconds(client);
    const after = await usage(database);
    const spent = (of: keyof typeof after): number => after[of] - before[of];
    const known = service + spent('own') + spent('database');
    const others = shareOfOthers({ milliseconds: spent('milliseconds'), idle: spent('idle'), known });
    return {
      round,
      others,
      isVoid: others > MOST_OF_OTHERS,
      ...started,
      restMegabytes,
      processes,
      ...called,
    };
  } finally {
    await client.stop();
  }
}

async function usage(database: Root) {
  return {
    idle: await idleMicroseconds(),
    own: await processMicroseconds(process.pid),
    database: await treeMicroseconds(database),
    milliseconds: performance.now(),
  };
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
};

async function handshake(
  client: StdioClient,
  contestant: StdioContestant,
  startedAt: number,
): Promise<Pick<StdioSlot, 'listMs' | 'rowsMs'>> {
  await client.request('initialize', INITIALIZE);
  client.notify('notifications/initialized');
  await client.request('tools/list', {});
  const listMs = performance.now() - startedAt;
  const rows = await rowsOf(client, contestant, 1);
  const rowsMs = performance.now() - startedAt;
  if (rows.length !== 1) throw new Error(`${contestant.title} answers ${rows.length} rows`);
  return { listMs, rowsMs };
}

async function call(
  client: StdioClient,
  { tool: { name, parameter } }: StdioContestant,
  value: number,
): Promise<Readonly<Record<string, unknown>>> {
  return client.request('tools/call', { name, arguments: { [parameter]: value } });
}

async function rowsOf(
  client: StdioClient,
  contestant: StdioContestant,
  value: number,
): Promise<readonly unknown[]> {
  const { content } = await call(client, contestant, value);
  const texts: readonly { readonly text: string }[] = Array.isArray(content) ? content : [];
  return contestant.tool.rows(texts.map(({ text }) => text));
}

async function settledMegabytes(client: StdioClient): Promise<number> {
  const samples: number[] = [];
  while (samples.length < SAMPLES) {
    await pause(SAMPLE_MS);
    samples.push(await residentMegabytes(client));
  }
  return Math.min(...samples);
}

const NOT_CALLED = {
  afterMegabytes: Number.NaN,
  callsPerSecond: Number.NaN,
  cpuMicroseconds: Number.NaN,
  databaseMicroseconds: Number.NaN,
};

async function measureCalls(
  client: StdioClient,
  contestant: StdioContestant,
  database: Root,
): Promise<typeof NOT_CALLED> {
  await callMany(client, contestant, WARM_UP_CALLS);
  const calls = CALLS - WARM_UP_CALLS;
  const [cpu, ofDatabase, startedAt] = [
    await treeMicroseconds(client),
    await treeMicroseconds(database),
    performance.now(),
  ];
  await callMany(client, contestant, calls);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    callsPerSecond: calls / seconds,
    cpuMicroseconds: ((await treeMicroseconds(client)) - cpu) / calls,
    databaseMicroseconds: ((await treeMicroseconds(database)) - ofDatabase) / calls,
    afterMegabytes: await settledMegabytes(client),
  };
}

/** So many calls, some at once. */
async function callMany(client: StdioClient, contestant: StdioContestant, calls: number): Promise<void> {
  let left = calls;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await call(client, contestant, 1 + (left % QUERIES.point.most));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** Throws unless all that are called answer the same rows. */
export async function checkRows(contestants: readonly StdioContestant[]): Promise<void> {
  let first: string | undefined;
  for (const contestant of contestants.filter(({ isCalled }) => isCalled)) {
    const client = startClient(contestant);
    try {
      await handshake(client, contestant, performance.now());
      const answers: string[] = [];
      for (const value of [1, 2, 500, QUERIES.point.most]) {
        answers.push(...(await rowsOf(client, contestant, value)).map(normalisedRow));
      }
      const text = answers.join('\n');
      first ??= text;
      if (text !== first) {
        throw new Error(`cannot compare: ${contestant.title} answers\n${text}\nand not\n${first}`);
      }
    } finally {
      await client.stop();
    }
  }
}
