import { sizeOf } from '@svc/testkit';
import type { RunningProcess } from '@svc/testkit';
import { parseExposition, type Scrape } from '../requirements/exposition.testing.ts';
import { askOnce } from '../requirements/lone-gateway.testing.ts';
import { metricsPortOf } from '../requirements/metrics-ports.testing.ts';
import { heapOf } from './link-heap.testing.ts';
import type { LinkScene } from './link-scene.testing.ts';

/** What gateway, agents and database hold, by name; `most` is what must not grow, `same` what must be as before. */
export interface Sizes {
  readonly same: Readonly<Record<string, number>>;
  readonly most: Readonly<Record<string, number>>;
}

const OF_GATEWAY = [
  'svc_gateway_requests_in_flight',
  'svc_gateway_agent_connections',
  'svc_gateway_agent_calls_in_flight',
  'svc_gateway_result_reserved_bytes',
  'svc_gateway_bcrypt_slots_busy',
];
const OF_AGENT = [
  'svc_agent_connected',
  'svc_agent_calls_running',
  'svc_agent_calls_queued',
  'svc_agent_database_waiting_calls',
  'svc_agent_database_connections{state="busy"}',
];
const SESSIONS = `select count(*) filter (where state <> 'idle')::int as busy, count(*)::int as "all"
  from pg_stat_activity where datname = current_database() and application_name = 'svc-agent'`;
/** What a cache may keep: of statements, of verified keys, of compiled code. */
const HEAP_SLACK_BYTES = 12 * 1024 * 1024;
/** Of the gathering of log records, of pings under way. */
const TIMER_SLACK = 3;
const BACK_WITHIN_MS = 15_000;

export async function sizesOf(scene: LinkScene): Promise<Sizes> {
  const { gateway } = scene.service;
  const same: Record<string, number> = {};
  const most: Record<string, number> = {};
  const ofGateway = await scrape(await gatewayPortOf(gateway));
  for (const name of OF_GATEWAY) same[name] = valueOf(ofGateway, name);
  await addProcess(most, 'gateway', gateway, 0);
  let pooled = 0;
  const agents = scene.agents();
  same['agents'] = agents.length;
  for (const [index, agent] of agents.entries()) {
    const scraped = await scrape(await agentPortOf(agent));
    for (const name of OF_AGENT) same[`${name} of agent ${index}`] = valueOf(scraped, name);
    const idle = valueOf(scraped, 'svc_agent_database_connections{state="idle"}');
    const busy = valueOf(scraped, 'svc_agent_database_connections{state="busy"}');
    pooled += idle + busy;
    await addProcess(most, `agent ${index}`, agent, idle + busy);
  }
  const [sessions] = await scene.query<{ busy: number; all: number }>(SESSIONS);
  same['database sessions at work'] = sessions?.busy ?? NaN;
  same['database sessions that no agent knows'] = (sessions?.all ?? NaN) - pooled;
  same['connections through the network'] = scene.network.connections();
  return { same, most };
}

/** Resolves once all is as it was; rejects with what is not, after 15 s. */
export async function expectBack(scene: LinkScene, before: Sizes): Promise<void> {
  scene.hangUp();
  const latest = performance.now() + BACK_WITHIN_MS;
  for (;;) {
    const faults = differences(before, await sizesOf(scene));
    if (faults.length === 0) return;
    if (performance.now() > latest) throw new Error(`not back where it was:\n${faults.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function differences(before: Sizes, after: Sizes): readonly string[] {
  const tell = (name: string, was: number | undefined, is: number | undefined): string =>
    `${name}: was ${was}, is ${is}`;
  const names = new Set([...Object.keys(before.same), ...Object.keys(after.same)]);
  return [
    ...[...names]
      .filter((name) => before.same[name] !== after.same[name])
      .map((name) => tell(name, before.same[name], after.same[name])),
    ...Object.entries(after.most)
      .filter(([name, is]) => is > (before.most[name] ?? 0) + slackOf(name))
      .map(([name, is]) => tell(name, before.most[name], is)),
  ];
}

function slackOf(name: string): number {
  if (name.endsWith(' heap')) return HEAP_SLACK_BYTES;
  return name.endsWith(' timers') ? TIMER_SLACK : 0;
}

async function addProcess(
  into: Record<string, number>,
  name: string,
  process: RunningProcess,
  otherDescriptors: number,
): Promise<void> {
  const { descriptors, threads } = await sizeOf(process);
  const { bytes, timers } = await heapOf(process);
  into[`${name} heap`] = bytes;
  into[`${name} timers`] = timers;
  into[`${name} descriptors`] = descriptors - otherDescriptors;
  into[`${name} threads`] = threads;
}

/** Kept, because a log forgets its first lines. */
const ports = new WeakMap<RunningProcess, number>();

async function portOf(process: RunningProcess, find: () => Promise<number>): Promise<number> {
  const port = ports.get(process) ?? (await find());
  ports.set(process, port);
  return port;
}

const gatewayPortOf = (gateway: RunningProcess): Promise<number> =>
  portOf(gateway, () => metricsPortOf(gateway));

const agentPortOf = (agent: RunningProcess): Promise<number> =>
  portOf(agent, async () => {
    const line = await agent.waitForLine((text) => text.includes(': metrics on '));
    return Number(/port (\d+)/.exec(line)?.[1]);
  });

/** The gateway's sample of that name now. */
export async function gatewayMetric(scene: LinkScene, name: string): Promise<number> {
  return valueOf(await scrape(await gatewayPortOf(scene.service.gateway)), name);
}

async function scrape(port: number): Promise<Scrape> {
  return parseExposition((await askOnce(port, 'GET', '/metrics')).body);
}

/** Of one sample; NaN, which equals nothing, when there is none. */
function valueOf(scraped: Scrape, sample: string): number {
  return scraped.get(sample.replace(/\{.*/, ''))?.samples.get(sample) ?? NaN;
}
