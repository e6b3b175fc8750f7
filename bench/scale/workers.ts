import { nextRecord, type Service } from '@svc/testkit';
import { median, spreadOfRatios } from '../report/statistics.ts';
import { callsOf, pointBodies, pointNames, pointQueries, startLibrary } from './library.ts';
import { measureInTurn, type Measured } from './measured.ts';
import { atMost, type Figure, type Measurement, type Row, type Scale } from './row.ts';

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
const GOAL = { cpu: 1.1, siblingMicroseconds: 20, siblingMs: 0.15 };

const CPU = 'CPU of a point call';
const THROUGHPUT = 'throughput';

export const workers: Row = {
  name: 'workers',
  title: 'Workers of a gateway',
  measure,
};

type Size = (typeof SIZES)[number];

async function measure(scale: Scale): Promise<Measurement> {
  const services: { readonly size: Size; readonly service: Service }[] = [];
  for (const size of SIZES) services.push({ size, service: await start(scale, size) });
  const results = await measureInTurn(
    scale,
    services.flatMap(({ size, service }) => [
      {
        name: nameOf(size, CONNECTIONS),
        service,
        load: calls(service, CONNECTIONS * size.workers),
        warmUpSeconds: WARM_UP_SECONDS * size.workers,
      },
      { name: nameOf(size, size.workers), service, load: calls(service, size.workers), warmUpSeconds: 0 },
    ]),
  );
  const column = (size: Size, connections: number, of: keyof Measured): readonly number[] =>
    (results.get(nameOf(size, connections)) ?? []).map((each) => each[of]);
  const compared = (what: string, size: Size, of: 'cpu' | 'callsPerSecond', unit: string): Figure => {
    const values = column(size, CONNECTIONS, of);
    return {
      what,
      size: described(size),
      value: median(values),
      unit,
      ratio: spreadOfRatios(values, column(ONE, CONNECTIONS, of)),
      goal: size === FOUR && of === 'cpu' ? atMost('ratio', GOAL.cpu) : undefined,
    };
  };
  const excess = (of: 'cpu' | 'p50Ms', connections: number): number => {
    const own = column(FOUR, connections, of);
    const differences = column(SIBLINGS, connections, of).map((value, round) => value - (own[round] ?? 0));
    return median(differences);
  };
  return {
    figures: [
      ...SIZES.map((size) => compared(CPU, size, 'cpu', 'us')),
      ...SIZES.map((size) => compared(THROUGHPUT, size, 'callsPerSecond', 'calls/s')),
      {
        what: 'CPU of a sibling call beyond that of an own',
        size: described(SIBLINGS),
        value: excess('cpu', CONNECTIONS) / SIBLING_SHARE,
        unit: 'us',
        goal: atMost('value', GOAL.siblingMicroseconds),
      },
      {
        what: 'p50 of calls one at a time at each worker, beyond own ones',
        size: described(SIBLINGS),
        value: excess('p50Ms', SIBLINGS.workers),
        unit: 'ms',
        goal: atMost('value', GOAL.siblingMs),
      },
    ],
    notes: [
      `Point queries, REST, closed loop, ${CONNECTIONS} connections for each worker; the CPU of all processes of gateway and agent.`,
      `With one link ${SIBLING_SHARE * 100} % of the calls arrive at a worker that hands them to its sibling.`,
    ],
    isComplete: true,
  };
}

async function start(scale: Scale, size: Size): Promise<Service> {
  const service = await startLibrary(scale, pointQueries(pointNames(1)), {
    gatewayEnv: {
      GATEWAY_WORKERS: String(size.workers),
      GATEWAY_LINKS_PER_REPLICA: String(size.links),
    },
  });
  const connects = (): number =>
    service.gateway.output('stdout').split('"event":"agent_connected"').length - 1;
  while (connects() < size.links) await nextRecord(service.gateway, 'agent_connected');
  return service;
}

function calls(service: Service, connections: number): ReturnType<typeof callsOf> {
  return callsOf(service, pointNames(1)[0] ?? '', pointBodies(), connections);
}

function nameOf(size: Size, connections: number): string {
  return `${described(size)}, ${connections} connections`;
}

function described({ workers: count, links }: Size): string {
  return `${count} ${count === 1 ? 'worker' : 'workers'}, ${links} ${links === 1 ? 'link' : 'links'}`;
}
