import { load } from '../load/wrk.ts';
import { median } from '../report/statistics.ts';
import { startChild, type Child } from './child.ts';
import { listCalls, listName, listQueries, pointCalls, pointQueries, startLibrary } from './library.ts';
import type { PacedOrder, PacedResult } from './paced-caller.ts';
import { atMost, figure, grouped, type Figure, type Measurement, type Row, type Scale } from './row.ts';

const ROWS = 10_000;
const LARGE_PER_SECOND = 10;
const POINTS_PER_SECOND = 1000;
const CONNECTIONS = 16;
const GOAL = 1.5;
/** So that the large results do not end before the other load does, whose program takes a while to start. */
const LONGER_SECONDS = 1;

export const largeResult: Row = {
  name: 'large-result',
  title: 'A 1 MB result beside point queries',
  measure,
};

type Caller = Child<PacedOrder, PacedResult>;

/** Of the point queries, and the rate at which the large results really came meanwhile. */
interface Round {
  readonly p99Ms: number;
  readonly callsPerSecond: number;
  readonly largePerSecond: number;
}

async function measure(scale: Scale): Promise<Measurement> {
  const service = await startLibrary(scale, pointQueries(1) + listQueries([ROWS]));
  const { text } = await service.call(listName(ROWS), { after: 0 });
  if (!text.includes(`"count":${ROWS}}`)) throw new Error(`cannot get ${ROWS} rows: ${text.slice(-200)}`);
  const megabytes = (Buffer.byteLength(text) / 1024 / 1024).toFixed(2);
  const points = await startCaller(scale);
  const large = await startCaller(scale);
  const { seconds } = scale;
  const pointLoad = pointCalls(service, CONNECTIONS);
  const largeLoad = listCalls(service, ROWS, 1);

  const pacedPoints = (): Promise<Round> =>
    called(points, { ...pointLoad, perSecond: POINTS_PER_SECOND, seconds });
  const allPoints = async (): Promise<Round> => {
    const { calls, seconds: took, p99Ms } = await load(pointLoad, seconds);
    return { p99Ms, callsPerSecond: calls / took, largePerSecond: 0 };
  };
  const beside = async (calls: () => Promise<Round>): Promise<Round> => {
    const longer = { perSecond: LARGE_PER_SECOND, seconds: seconds + LONGER_SECONDS };
    const meanwhile = called(large, { ...largeLoad, ...longer });
    const [round, { callsPerSecond }] = await Promise.all([calls(), meanwhile]);
    return { ...round, largePerSecond: callsPerSecond };
  };

  const ways = [
    { title: `${grouped(POINTS_PER_SECOND)} a second`, calls: pacedPoints },
    { title: 'as many as go, closed loop', calls: allPoints },
  ];
  await load(pointLoad, seconds);
  await beside(pacedPoints);
  const rounds = ways.map((way) => ({ ...way, without: new Array<Round>(), beside: new Array<Round>() }));
  for (let round = 1; round <= scale.rounds; round++) {
    scale.say(`round ${round} of ${scale.rounds}`);
    for (const way of rounds) {
      way.without.push(await way.calls());
      way.beside.push(await beside(way.calls));
    }
  }
  const largeRate = median(rounds.flatMap((way) => way.beside.map(({ largePerSecond }) => largePerSecond)));
  return {
    figures: rounds.flatMap((way) => figuresOf(way.title, way.without, way.beside)),
    notes: [
      `Large: ${megabytes} MB each, ${LARGE_PER_SECOND} a second asked for over one connection, ${largeRate.toFixed(1)} a second came. Point queries: ${CONNECTIONS} connections.`,
      'At a fixed rate, a call that waits for a free connection is counted from when it was due.',
    ],
  };
}

function figuresOf(title: string, without: readonly Round[], beside: readonly Round[]): readonly Figure[] {
  const figures = (of: 'p99Ms' | 'callsPerSecond', what: string, unit: string): readonly Figure[] => {
    const base = without.map((round) => round[of]);
    const disturbed = beside.map((round) => round[of]);
    const goal = of === 'p99Ms' ? atMost('ratio', GOAL) : undefined;
    return [
      figure(what, `${title}, alone`, unit, base),
      figure(what, `${title}, beside`, unit, disturbed, { base, goal }),
    ];
  };
  return [
    ...figures('p99Ms', 'p99 of point queries', 'ms'),
    ...figures('callsPerSecond', 'rate of point queries', 'calls/s'),
  ];
}

async function startCaller({ releasers }: Scale): Promise<Caller> {
  const caller = await startChild<PacedOrder, PacedResult>('paced-caller.ts');
  await releasers.add(() => caller.stop());
  return caller;
}

async function called(caller: Caller, order: PacedOrder): Promise<Round> {
  const { failed, p99Ms, callsPerSecond } = await caller.ask(order);
  if (failed > 0) throw new Error(`cannot measure ${order.path}: ${failed} calls were not answered with 200`);
  return { p99Ms, callsPerSecond, largePerSecond: 0 };
}
