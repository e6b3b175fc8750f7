import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeOf, startService, type Service, type ServiceOptions } from '@svc/testkit';
import { quantile } from '../../../bench/report/statistics.ts';

/** What the file holds when the agent is told to load it again. */
const KINDS = ['other rows', 'at fault', 'other capabilities', 'torn', 'overtaken'] as const;
type Kind = (typeof KINDS)[number];

export interface ReloadsOptions {
  readonly database: ServiceOptions['database'];
  readonly reloads: number;
  /** In the file, beside the one that is called. */
  readonly capabilities: number;
  readonly callers: number;
  /** Between an answer and the next call of its caller. */
  readonly thinkMs: number;
  /** Called every tenth reload. */
  readonly progress?: (made: number) => void;
}

export interface ReloadsReport {
  readonly reloads: number;
  /** Files that were taken up, and those that were refused. */
  readonly reloaded: number;
  readonly refused: number;
  readonly calls: number;
  /** Answers other than rows of an edition that may be served, each once. */
  readonly wrong: readonly string[];
  /** Milliseconds of the reloads that were taken up. */
  readonly reloadMs: { readonly p50: number; readonly p95: number; readonly most: number };
  /** Of calls: before the first reload, and while they went on. */
  readonly quietP99Ms: number;
  readonly p99Ms: number;
  /**
   * Of the agent, in units of 1,048,576 bytes: the median of a fifth of the reloads once it is warm, and of the last fifth.
   * At one moment it is a tenth more or less, by when the garbage collector was there last.
   */
  readonly earlyMegabytes: number;
  readonly megabytes: number;
}

const QUIET_MS = 1500;
/** With its first reloads an agent grows to the size that it keeps. So many at least are looked at then. */
const WARM_AFTER = 8;
/** Besides what the checks of each capability take where other programs have the processors. */
const WITHIN_MS = 30_000;
const WITHIN_MS_EACH = 60;

/** Every second file is at fault, torn, or overtaken by the next before it is checked; calls come all the time. */
export async function runReloads(options: ReloadsOptions): Promise<ReloadsReport> {
  const service = await startService({
    database: options.database,
    capabilities: fileOf(1, options.capabilities, false),
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
  });
  try {
    return await reloadUnderLoad(service, options);
  } finally {
    await service.stop();
  }
}

async function reloadUnderLoad(
  service: Service,
  { reloads, capabilities, callers, thinkMs, progress }: ReloadsOptions,
): Promise<ReloadsReport> {
  const [agent] = service.agents;
  if (agent === undefined) throw new Error('no agent was started');
  const file = join(service.agentFolder(0), 'capability.yaml');
  const text = await readFile(file, 'utf8');
  const head = text.slice(0, text.indexOf('capabilities:'));
  const load = startEditionLoad(service, callers, thinkMs);
  let edition = 1;
  let hasMore = false;
  const sizes: number[] = [];

  const write = (content: string): Promise<void> => writeFile(file, head + content);
  const records = new Map<string, Ended>();
  const until = (holds: () => Promise<boolean>): Promise<void> =>
    untilWithin(WITHIN_MS + WITHIN_MS_EACH * capabilities, holds);

  /** The log file of calls is soon full, and the oldest is removed: what it had must have been read before. */
  async function ended(): Promise<readonly Ended[]> {
    for (const record of await recordsOf(service.agentFolder(0))) records.set(record.time, record);
    return [...records.values()];
  }

  async function tell(content: string): Promise<void> {
    await write(content);
    agent?.signal('SIGHUP');
  }

  async function refused(content: string): Promise<void> {
    const count = async (): Promise<number> =>
      (await ended()).filter(({ event }) => event === 'reload_refused').length;
    const before = await count();
    await tell(content);
    await until(async () => (await count()) > before);
  }

  async function reload(kind: Kind): Promise<void> {
    if (kind === 'other capabilities') hasMore = !hasMore;
    const next = (): string => fileOf(edition + 1, capabilities, hasMore);
    if (kind === 'at fault') return refused(next().replace(' as edition,', ' + nothing_there as edition,'));
    if (kind === 'torn') return refused(next().slice(0, next().lastIndexOf('sql:') + 8));
    // Which of the two is served first, and for how long, depends on when they are read.
    const files = kind === 'overtaken' ? 2 : 1;
    for (let count = 0; count < files; count++) {
      const content = next();
      load.newest = ++edition;
      await tell(content);
    }
    await until(async () => (await load.served()) === edition);
    load.oldest = edition;
    await ended();
  }

  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  const quietP99Ms = load.p99();
  for (let made = 0; made < reloads; made++) {
    await reload(KINDS[made % KINDS.length] ?? 'other rows');
    const served = await load.served();
    if (served !== edition) throw new Error(`edition ${served} is served, the newest is ${edition}`);
    sizes.push((await sizeOf(agent)).megabytes);
    if (made % 10 === 9) progress?.(made + 1);
  }
  const { calls, wrong } = await load.stop();
  const all = await ended();
  const fifth = Math.ceil(reloads / 5);
  const early = Math.max(fifth, WARM_AFTER);
  const warm = sizes.slice(Math.min(early, reloads - fifth)).slice(0, early);
  const times = all.filter(({ event }) => event === 'reloaded').map(({ duration_ms }) => duration_ms);
  return {
    reloads,
    reloaded: times.length,
    refused: all.length - times.length,
    calls,
    wrong,
    reloadMs: { p50: rounded(times, 0.5), p95: rounded(times, 0.95), most: rounded(times, 1) },
    quietP99Ms,
    p99Ms: load.p99(),
    earlyMegabytes: rounded(warm, 0.5),
    megabytes: rounded(sizes.slice(-fifth), 0.5),
  };
}

function fileOf(edition: number, others: number, hasMore: boolean): string {
  const names = Array.from({ length: others + (hasMore ? 1 : 0) }, (_, index) => `other_${index}`);
  return `capabilities:
  edition:
    description: Which edition of the file is served
    sql: select ${edition} as edition, :n as n
    params: { n: { type: integer, required: true } }
    result: { edition: { type: integer }, n: { type: integer } }
${names
  .map(
    (name) => `  ${name}:
    description: Stands beside
    sql: select ${edition} as one where :id > 0
    params: { id: { type: integer, required: true, minimum: 1 } }
    result: { one: { type: integer } }
`,
  )
  .join('')}`;
}

interface Ended {
  readonly time: string;
  readonly event: string;
  readonly duration_ms: number;
}

async function recordsOf(folder: string): Promise<readonly Ended[]> {
  // Asked for after each reload: what stands in older files is known.
  const files = await Promise.all(
    ['.1', ''].map((end) => readFile(join(folder, `svc-agent.log${end}`), 'utf8').catch(() => '')),
  );
  return files
    .join('')
    .split('\n')
    .filter((line) => /"event":"reload(?:ed|_refused)"/.test(line))
    .map((line): Ended => JSON.parse(line));
}

interface EditionLoad {
  /** Editions from this one on may be served, up to the newest. */
  oldest: number;
  newest: number;
  served(): Promise<number | undefined>;
  /** Of the calls since it was asked for last, in milliseconds. */
  p99(): number;
  stop(): Promise<{ readonly calls: number; readonly wrong: readonly string[] }>;
}

/** Callers that call all the time, and compare what they get. */
function startEditionLoad(service: Service, callers: number, thinkMs: number): EditionLoad {
  const wrong = new Set<string>();
  let times: number[] = [];
  let calls = 0;
  let stopped = false;

  async function call(): Promise<number | undefined> {
    const { oldest } = load;
    const n = calls++;
    const startedAt = performance.now();
    const { status, text } = await service.call('edition', { n });
    times.push(performance.now() - startedAt);
    const [, edition, echo] = /^\{"rows":\[\{"edition":(\d+),"n":(\d+)\}\],"count":1\}$/.exec(text) ?? [];
    if (edition === undefined || Number(echo) !== n) wrong.add(`${status} ${text}`);
    else if (Number(edition) < oldest || Number(edition) > load.newest)
      wrong.add(`edition ${edition} where ${oldest} to ${load.newest} may be`);
    return edition === undefined ? undefined : Number(edition);
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      await call().catch((error: unknown) => wrong.add(String(error)));
      await new Promise((resolve) => setTimeout(resolve, thinkMs));
    }
  }

  const load: EditionLoad = {
    oldest: 1,
    newest: 1,
    served: call,
    p99() {
      const p99 = rounded(times, 0.99);
      times = [];
      return p99;
    },
    async stop() {
      stopped = true;
      await Promise.all(running);
      return { calls, wrong: [...wrong] };
    },
  };
  const running = Array.from({ length: callers }, caller);
  return load;
}

/** In tenths of a millisecond. */
function rounded(times: readonly number[], share: number): number {
  return Math.round(quantile(times, share) * 10) / 10;
}

async function untilWithin(ms: number, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`has not come within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
