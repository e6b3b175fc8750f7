import { randomBytes } from 'node:crypto';
import { ask, type Service } from '@svc/testkit';
import { createKey } from '../../packages/gateway/src/auth/api-keys/create-key.ts';
import { load, type Load } from '../load/wrk.ts';
import { callPath, headersWith, pointBodies, pointNames, pointQueries, startLibrary } from './library.ts';
import { measureInTurn, type Contestant } from './measured.ts';
import { atMost, figure, grouped, type Figure, type Measurement, type Row, type Scale } from './row.ts';

const SIZES = [
  { capabilities: 10, keys: 1 },
  { capabilities: 100, keys: 10 },
  { capabilities: 1000, keys: 100 },
] as const;
const CONNECTIONS = 32;
const GOAL = 1.1;
/** The agent's connections to the database, each of which prepares every statement, and plans it five times more. */
const DATABASE_CONNECTIONS = 10;
const CALLS_UNTIL_PLANNED = 6;
const PLANNED_CALLS = DATABASE_CONNECTIONS * CALLS_UNTIL_PLANNED * SIZES[2].capabilities;
/** Loads at most, so that a slow machine comes to an end. */
const WARM_UP_LOADS = 6;

const ALL = 'CPU of a point call, all capabilities and keys in turn';
const ONE = 'CPU of a point call, one capability and key';
const DATABASE = 'CPU of the database, all in turn';

export const capabilities: Row = {
  name: 'capabilities',
  title: 'Capabilities and keys',
  chart: { xAxis: 'capabilities', yAxis: 'CPU per call, us', lines: [ALL, ONE, DATABASE] },
  measure,
};

interface Size {
  readonly capabilities: number;
  readonly keys: number;
}

async function measure(scale: Scale): Promise<Measurement> {
  const all: Contestant[] = [];
  for (const size of SIZES) all.push(...(await contestantsOf(scale, size)));
  const warm: number[] = [];
  for (const each of all.flatMap(({ loads }) => loads)) {
    if (each.targets !== undefined) warm.push(await warmUp(scale, each));
  }
  const column = await measureInTurn(scale, all);
  const figures = (what: string, measured: string, of: 'cpu' | 'databaseCpu'): readonly Figure[] =>
    SIZES.map((size) =>
      figure(what, described(size), 'us', column(nameOf(measured, size.capabilities), of), {
        at: size.capabilities,
        base: column(nameOf(measured, SIZES[0].capabilities), of),
        goal: size === SIZES.at(-1) && of === 'cpu' ? atMost('ratio', GOAL) : undefined,
      }),
    );
  return {
    figures: [
      ...figures(ALL, ALL, 'cpu'),
      ...figures(ONE, ONE, 'cpu'),
      ...figures(DATABASE, ALL, 'databaseCpu'),
    ],
    notes: [
      `REST, ${CONNECTIONS} connections, closed loop; the CPU of gateway and agent together.`,
      `Each was warmed up by ${grouped(Math.min(...warm))} calls or more; ${grouped(PLANNED_CALLS)} are needed until ${DATABASE_CONNECTIONS} connections to the database have prepared and planned all statements of the largest.`,
    ],
    isComplete: true,
  };
}

async function contestantsOf(scale: Scale, size: Size): Promise<readonly Contestant[]> {
  scale.say(`starting with ${described(size)}`);
  const names = pointNames(size.capabilities);
  const keys = Array.from({ length: size.keys }, (_, at) =>
    createKey({ name: `key-${at}`, capabilities: ['*'], randomBytes }),
  );
  const service = await startLibrary(scale, pointQueries(names), {
    keyRecords: keys.map(({ record }) => record),
  });
  const apiKeys = keys.map(({ apiKey }) => apiKey);
  await warmKeys(service, names[0] ?? '', apiKeys);
  // Capabilities and keys go on at their own pace, so that both are used in turn.
  const targets = names.map((name, at) => ({
    path: callPath(name),
    headers: headersWith(apiKeys[at % apiKeys.length] ?? ''),
  }));
  const [first] = targets;
  if (first === undefined) throw new Error('cannot measure without a capability');
  const base = { url: service.url, connections: CONNECTIONS, bodies: pointBodies(), ...first };
  return [
    { name: nameOf(ALL, size.capabilities), service, loads: [{ ...base, targets }], warmUpSeconds: 0 },
    { name: nameOf(ONE, size.capabilities), service, loads: [base], warmUpSeconds: 0 },
  ];
}

/** Resolves to how many calls it took: as many as are needed, or as fit into the time. */
async function warmUp(scale: Scale, calls: Load): Promise<number> {
  let done = 0;
  for (let loads = 0; loads < WARM_UP_LOADS && done < PLANNED_CALLS; loads++) {
    scale.say(`warming up, ${grouped(done)} of ${grouped(PLANNED_CALLS)} calls`);
    done += (await load(calls, scale.seconds)).calls;
  }
  return done;
}

/** After one call with it, a key is known by its digest. */
async function warmKeys(service: Service, capability: string, apiKeys: readonly string[]): Promise<void> {
  for (const apiKey of apiKeys) {
    const url = `${service.url}${callPath(capability)}`;
    const { status, text } = await ask(url, { method: 'POST', apiKey, body: '{"id":1}' });
    if (status !== 200) throw new Error(`cannot use a key: ${status} ${text}`);
  }
}

function described({ capabilities, keys }: Size): string {
  return `${grouped(capabilities)} capabilities, ${keys} ${keys === 1 ? 'key' : 'keys'}`;
}

function nameOf(what: string, capabilities: number): string {
  return `${what}: ${capabilities}`;
}
