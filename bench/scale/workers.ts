import { join } from 'node:path';
import {
  createAgentSecret,
  createKey,
  gatewaySettings,
  makeAgentFolder,
  nextRecord,
  startAgent,
  startGateway,
  temporaryFolder,
  type Service,
} from '@svc/testkit';
import { load } from '../load/wrk.ts';
import { median } from '../report/statistics.ts';
import { DATABASE, pointCalls, pointQueries, startLibrary } from './library.ts';
import { measureInTurn, type Contestant } from './measured.ts';
import { atMost, figure, type Figure, type Measurement, type Row, type Scale } from './row.ts';

/** The gateway's workers, and to how many of them the agent has a link. */
const SIZES = [
  { workers: 1, links: 1 },
  { workers: 2, links: 2 },
  { workers: 4, links: 4 },
  { workers: 4, links: 1 },
] as const;
const [ONE, , FOUR, SIBLINGS] = SIZES;
/** Of the calls to a gateway whose agent has one link, those that arrive at a worker without it. */
const SIBLING_SHARE = (SIBLINGS.workers - SIBLINGS.links) / SIBLINGS.workers;
/** For each worker. */
const CONNECTIONS = 32;
/** For each worker: its code is optimised once it has served some hundred thousand calls. */
const WARM_UP_SECONDS = 10;
/** For each round, until both kinds of workers were met as often as there are rounds. */
const TRIES_MAX = 12;
const GOAL = { cpu: 1.1, siblingMicroseconds: 20, siblingMs: 0.15 };
/** What as many processes cost that know nothing of each other. */
const SEPARATE = `${FOUR.workers} gateways of one process`;

export const workers: Row = {
  name: 'workers',
  title: 'Workers of a gateway',
  measure,
};

type Size = (typeof SIZES)[number];

async function measure(scale: Scale): Promise<Measurement> {
  const contestants: Contestant[] = [];
  let lone = (): Promise<LoneCalls> => Promise.reject(new Error('no workers without a link'));
  for (const size of SIZES) {
    const started = await start(scale, size);
    const { service } = started;
    if (size === SIBLINGS) lone = (): Promise<LoneCalls> => loneCalls(scale, started);
    contestants.push({
      name: described(size),
      service,
      loads: Array.from({ length: size.workers }, () => pointCalls(service, CONNECTIONS)),
      warmUpSeconds: WARM_UP_SECONDS * size.workers,
    });
  }
  contestants.push({
    name: SEPARATE,
    ...(await startSeparateGateways(scale, FOUR.workers)),
    warmUpSeconds: WARM_UP_SECONDS * FOUR.workers,
  });
  const column = await measureInTurn(scale, contestants);
  const compared = (what: string, of: 'cpu' | 'callsPerSecond', unit: string): readonly Figure[] =>
    contestants.map(({ name }) =>
      figure(what, name, unit, column(name, of), {
        base: column(described(ONE), of),
        goal: name === described(FOUR) && of === 'cpu' ? atMost('ratio', GOAL.cpu) : undefined,
      }),
    );
  const own = column(described(FOUR), 'cpu');
  const handed = column(described(SIBLINGS), 'cpu').map((value, round) => value - (own[round] ?? 0));
  const p50 = await lone();
  return {
    figures: [
      ...compared('CPU of a point call', 'cpu', 'us'),
      ...compared('throughput', 'callsPerSecond', 'calls/s'),
      {
        what: 'CPU of a sibling call beyond that of an own',
        size: described(SIBLINGS),
        value: median(handed) / SIBLING_SHARE,
        unit: 'us',
        goal: atMost('value', GOAL.siblingMicroseconds),
      },
      {
        what: 'p50 of one caller at a worker without the link, beyond one at the worker with it',
        size: described(SIBLINGS),
        value: median(p50.handed) - median(p50.own),
        unit: 'ms',
        goal: atMost('value', GOAL.siblingMs),
      },
    ],
    notes: [
      `Point queries, REST, closed loop, ${CONNECTIONS} connections for each worker; the CPU of all processes of gateway and agent.`,
      `With one link ${SIBLING_SHARE * 100} % of the calls arrive at a worker that hands them to its sibling.`,
    ],
  };
}

/** p50 in milliseconds of one caller at a time, by whether the worker that took its connection has the link. */
interface LoneCalls {
  readonly own: readonly number[];
  readonly handed: readonly number[];
}

async function loneCalls(scale: Scale, { service, workerWithLink }: Started): Promise<LoneCalls> {
  const own: number[] = [];
  const handed: number[] = [];
  // Connections go to the workers in turn, and a load makes one or two of them.
  for (let tries = 0; own.length < scale.rounds || handed.length < scale.rounds; tries++) {
    if (tries === TRIES_MAX * scale.rounds)
      throw new Error('no connection came to the worker that was wanted');
    await fetch(`${service.url}/healthz`, { headers: { connection: 'close' } });
    const { p50Ms } = await load(pointCalls(service, 1), scale.seconds);
    const isHanded = lastWorker(service, 'request') !== workerWithLink;
    (isHanded ? handed : own).push(p50Ms);
  }
  return { own, handed };
}

interface Started {
  readonly service: Service;
  /** The last one where there are several. */
  readonly workerWithLink: number;
}

async function start(scale: Scale, size: Size): Promise<Started> {
  const service = await startLibrary(scale, pointQueries(1), {
    gatewayEnv: {
      GATEWAY_WORKERS: String(size.workers),
      GATEWAY_LINKS_PER_REPLICA: String(size.links),
    },
  });
  const connects = (): number => service.gateway.output('stdout').split(event('agent_connected')).length - 1;
  while (connects() < size.links) await nextRecord(service.gateway, 'agent_connected');
  return { service, workerWithLink: lastWorker(service, 'agent_connected') };
}

/** Which worker wrote the last record of that event. */
function lastWorker({ gateway }: Service, name: string): number {
  const line = gateway
    .output('stdout')
    .split('\n')
    // What follows the last end of a line is part of the next record.
    .slice(0, -1)
    .findLast((each) => each.includes(event(name)));
  const record: { worker?: number } = JSON.parse(line ?? '{}');
  return record.worker ?? Number.NaN;
}

function event(name: string): string {
  return `"event":"${name}"`;
}

function described({ workers: count, links }: Size): string {
  return `${count} ${count === 1 ? 'worker' : 'workers'}, ${links} ${links === 1 ? 'link' : 'links'}`;
}

/** So many gateways of one process each, which have one agent, and a load for each. */
async function startSeparateGateways(
  { postgres, releasers }: Scale,
  count: number,
): Promise<Pick<Contestant, 'service' | 'loads'>> {
  const secret = createAgentSecret();
  const [key, folder] = await Promise.all([createKey('all', '*'), temporaryFolder('separate')]);
  await releasers.add(() => folder.remove());
  const settings = {
    ...gatewaySettings(secret.agent_public_key, [key.record]),
    GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000',
  };
  const started = await Promise.all(Array.from({ length: count }, () => startGateway(settings)));
  for (const { process } of started) await releasers.add(() => process.stop());
  const gateways = started.map(({ process }) => process);
  const home = join(folder.path, 'agent');
  await makeAgentFolder(home, {
    'capability.yaml': `gateway:
  url: ${JSON.stringify(started.map(({ port }) => `ws://127.0.0.1:${port}/ws/agent`))}
  agent_private_key: ${secret.agent_private_key}
database:
  host: ${postgres.host}
  port: ${postgres.port}
  name: ${DATABASE}
  user: ${JSON.stringify(postgres.user)}
  password: ${JSON.stringify(postgres.password)}
capabilities:${pointQueries(1)}
`,
  });
  const [first, ...others] = gateways;
  if (first === undefined) throw new TypeError('count must be at least 1');
  const listed = others.map((gateway) =>
    gateway.waitForLine((line) => line.includes(event('agent_connected'))),
  );
  const agent = await startAgent(first, home);
  await releasers.add(() => agent.stop());
  await Promise.all(listed);
  return {
    service: { gateways, agents: [agent] },
    loads: started.map(({ port }) =>
      pointCalls({ url: `http://127.0.0.1:${port}`, apiKeys: { all: key.api_key } }, CONNECTIONS),
    ),
  };
}
