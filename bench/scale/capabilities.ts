import { randomBytes } from 'node:crypto';
import { ask } from '@svc/testkit';
import { createKey } from '../../packages/gateway/src/auth/api-keys/create-key.ts';
import { load, type Load } from '../load/wrk.ts';
import { callPath, headersWith, pointBodies, pointNames, pointQueries, startLibrary } from './library.ts';
import { measureInTurn, type Contestant } from './measured.ts';
import {
  atMost,
  figuresOfSizes,
  grouped,
  type Figure,
  type Measurement,
  type Row,
  type Scale,
} from './row.ts';

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

type Size = (typeof SIZES)[number];

async function measure(scale: Scale): Promise<Measurement> {
  const all: Contestant[] = [];
  for (const size of SIZES) all.push(...(await contestantsOf(scale, size)));
  const warm: number[] = [];
  for (const each of all.flatMap(({ loads }) => loads)) {
    if (each.targets !== undefined) warm.push(await warmUp(scale, each));
  }
  const column = await measureInTurn(scale, all);
  const figures = (what: string, measured: string, of: 'cpu' | 'databaseCpu'): readonly Figure[] => {
    const sizes = SIZES.map((size) => {
      const values = column(nameOf(measured, size), of);
      return { at: size.capabilities, size: described(size), values };
    });
    return figuresOfSizes(what, 'us', sizes, of === 'cpu' ? atMost('ratio', GOAL) : undefined);
  };
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
  };
}

async function contestantsOf(scale: Scale, size: Size): Promise<readonly Contestant[]> {
  scale.say(`starting with ${described(size)}`);
  const names = pointNames(size.capabilities);
  const keys = Array.from({ length: size.keys }, (_, at) =>
    createKey({ name: `key-${at}`, capabilities: ['*'], randomBytes }),
  );
  const records = JSON.stringify(keys.map(({ record }) => record));
  const gatewayEnv = { GATEWAY_API_KEYS_JSON: records };
  const service = await startLibrary(scale, pointQueries(size.capabilities), { gatewayEnv });
  const apiKeys = keys.map(({ apiKey }) => apiKey);
  const url = `${service.url}${callPath(names[0] ?? '')}`;
  // After one call with it, a key is known by its digest.
  for (const apiKey of apiKeys) {
    const { status, text } = await ask(url, { method: 'POST', apiKey, body: '{"id":1}' });
    if (status !== 200) throw new Error(`cannot use a key: ${status} ${text}`);
  }
  // Capabilities and keys go on at their own pace, so that both are used in turn.
  const targets = names.map((name, at) => ({
    path: callPath(name),
    headers: headersWith(apiKeys[at % apiKeys.length] ?? ''),
  }));
  const [first] = targets;
  if (first === undefined) throw new Error('cannot measure without a capability');
  const base = { url: service.url, connections: CONNECTIONS, bodies: pointBodies(), ...first };
  return [
    { name: nameOf(ALL, size), service, loads: [{ ...base, targets }], warmUpSeconds: 0 },
    { name: nameOf(ONE, size), service, loads: [base], warmUpSeconds: 0 },
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

function described({ capabilities, keys }: Size): string {
  return `${grouped(capabilities)} capabilities, ${keys} ${keys === 1 ? 'key' : 'keys'}`;
}

function nameOf(what: string, { capabilities }: Size): string {
  return `${what}: ${capabilities}`;
}
