import { cpuMicroseconds, sizeOf, startAgent, type Service } from '@svc/testkit';
import { pointNames, pointQueries, startLibrary } from './library.ts';
import {
  atMost,
  figuresOfSizes,
  grouped,
  type Figure,
  type Measurement,
  type Row,
  type Scale,
} from './row.ts';

const SIZES = [10, 100, 1000] as const;
const GOAL_SECONDS = 10;
const STARTS = 3;

const TIME = 'from the start of the agent to its first answer';
const CPU = 'CPU of the agent until then';
const MEMORY = 'memory of the agent then';

export const agentStart: Row = {
  name: 'agent-start',
  title: 'Start of the agent',
  chart: { xAxis: 'capabilities', yAxis: 'seconds', lines: [TIME, CPU] },
  measure,
};

interface Started {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly megabytes: number;
}

async function measure(scale: Scale): Promise<Measurement> {
  const services = new Map<number, Service>();
  for (const size of SIZES) {
    const service = await startLibrary(scale, pointQueries(size), { agents: 0 });
    services.set(size, service);
    // Makes the folder, and brings the files into memory.
    await (await service.startAgent()).stop();
  }
  const results = new Map<number, Started[]>();
  for (let round = 1; round <= STARTS; round++) {
    scale.say(`start ${round} of ${STARTS}`);
    for (const [size, service] of services) {
      results.set(size, [...(results.get(size) ?? []), await startOnce(service, size)]);
    }
  }
  const figures = (
    what: string,
    of: keyof Started,
    unit: string,
    goal?: Figure['goal'],
  ): readonly Figure[] => {
    const sizes = [...results].map(([size, started]) => {
      return { at: size, size: `${grouped(size)} capabilities`, values: started.map((each) => each[of]) };
    });
    return figuresOfSizes(what, unit, sizes, goal);
  };
  return {
    figures: [
      ...figures(TIME, 'seconds', 's', atMost('value', GOAL_SECONDS)),
      ...figures(CPU, 'cpuSeconds', 's'),
      ...figures(MEMORY, 'megabytes', 'MB'),
    ],
    notes: [`Median of ${STARTS} starts; each checks every query against the database.`],
  };
}

async function startOnce(service: Service, size: number): Promise<Started> {
  const startedAt = performance.now();
  const agent = await startAgent(service.gateway, service.agentFolder(0));
  try {
    const { status, text } = await service.call(pointNames(size).at(-1) ?? '', { id: 1 });
    const seconds = (performance.now() - startedAt) / 1000;
    if (status !== 200) throw new Error(`cannot call the agent after its start: ${status} ${text}`);
    const cpuSeconds = (await cpuMicroseconds(agent)) / 1e6;
    return { seconds, cpuSeconds, megabytes: (await sizeOf(agent)).megabytes };
  } finally {
    await agent.stop();
  }
}
