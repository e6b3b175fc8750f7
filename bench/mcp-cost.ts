import { parseArgs } from 'node:util';
import { cpuMicroseconds, startPostgres, startService, temporaryFolder, type Service } from '@svc/testkit';
import { load, median, type Load } from './load.ts';

const USAGE = `Usage: npm run bench:mcp [-- --rounds N --seconds S --connections C] [--json]

What a tools/call costs beside the REST call with the same query: CPU of gateway and agent together, without the
database's. Rounds are interleaved; the table has medians. Linux only.
`;

/** The goal: no more than this many times the CPU of a REST call. */
const GOAL = 1.2;
const BOOKS = 1000;
const TOOLS = 1000;

const SQL = `
  create table book (id int primary key, title text not null, price numeric(8,2));
  insert into book select i, 'Book ' || i, i / 4.0 from generate_series(1, ${BOOKS}) i;
`;

function capabilities(): string {
  const one = (name: string): string => `
  ${name}:
    description: One book
    sql: select id, title, price from book where id = :id
    params: { id: { type: integer, required: true, minimum: 1, description: Its number } }
    result: { id: { type: integer }, title: { type: string }, price: { type: number } }`;
  const names = Array.from({ length: TOOLS - 2 }, (_, at) => `tool_${at}`);
  return `capabilities:${one('get_book')}
  list_books:
    description: A hundred books
    sql: select id, title, price from book where id > :after order by id limit 100
    params: { after: { type: integer, required: true } }
    result: { id: { type: integer }, title: { type: string }, price: { type: number } }${names.map(one).join('')}
`;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Contestant {
  readonly title: string;
  readonly load: Load;
  /** Compared with this one. */
  readonly against?: string;
}

function contestants(service: Service, connections: number): readonly Contestant[] {
  const headers = {
    authorization: `Bearer ${service.apiKeys['all'] ?? ''}`,
    'content-type': 'application/json',
  };
  const random = (most: number): number => 1 + Math.floor(Math.random() * most);
  const base = { url: service.url, connections, headers };
  const rest = (name: string, params: () => unknown): Load => ({
    ...base,
    path: `/api/v1/capabilities/${name}`,
    body: () => JSON.stringify(params()),
  });
  const legacy = (method: string, params: () => object): Load => ({
    ...base,
    path: '/mcp',
    headers: {
      ...headers,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: () => JSON.stringify({ jsonrpc: '2.0', id: random(1e6), method, params: params() }),
  });
  const stateless = (method: string, params: () => object, name?: string): Load => ({
    ...base,
    path: '/mcp',
    headers: {
      ...headers,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    },
    body: () =>
      JSON.stringify({ jsonrpc: '2.0', id: random(1e6), method, params: { _meta: META, ...params() } }),
  });
  const point = () => ({ id: random(BOOKS) });
  const list = () => ({ after: random(BOOKS - 100) });
  const tool = (name: string, args: () => unknown) => () => ({ name, arguments: args() });
  return [
    { title: 'point, REST', load: rest('get_book', point) },
    {
      title: 'point, tools/call 2025-11-25',
      load: legacy('tools/call', tool('get_book', point)),
      against: 'point, REST',
    },
    {
      title: 'point, tools/call 2026-07-28',
      load: stateless('tools/call', tool('get_book', point), 'get_book'),
      against: 'point, REST',
    },
    { title: '100 rows, REST', load: rest('list_books', list) },
    {
      title: '100 rows, tools/call 2025-11-25',
      load: legacy('tools/call', tool('list_books', list)),
      against: '100 rows, REST',
    },
    {
      title: '100 rows, tools/call 2026-07-28',
      load: stateless('tools/call', tool('list_books', list), 'list_books'),
      against: '100 rows, REST',
    },
    { title: `tools/list, 200 of ${TOOLS}`, load: legacy('tools/list', () => ({})) },
  ];
}

interface Measured {
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicroseconds: number;
}

interface BenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly json: boolean;
}

/** Undefined for help; throws TypeError for wrong usage. */
function readOptions(args: readonly string[]): BenchOptions | undefined {
  const options = {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return undefined;
  const count = (name: 'rounds' | 'seconds' | 'connections'): number => {
    if (/^[1-9][0-9]{0,3}$/.test(values[name])) return Number(values[name]);
    throw new TypeError(`--${name} must be a whole number from 1 to 9999`);
  };
  return {
    rounds: count('rounds'),
    seconds: count('seconds'),
    connections: count('connections'),
    json: values.json,
  };
}

/** Resolves to the exit code: 1 when the goal is missed, 2 for wrong usage. */
export async function main(args: readonly string[]): Promise<number> {
  let options: BenchOptions | undefined;
  try {
    options = readOptions(args);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  if (options === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  const { rounds, seconds, connections, json } = options;
  const folder = await temporaryFolder('bench');
  const postgres = await startPostgres({ folder: folder.path });
  try {
    await postgres.createDatabase('bench');
    await postgres.execute('bench', SQL);
    const service = await startService({
      database: { ...postgres, name: 'bench' },
      capabilities: capabilities(),
      gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
    });
    try {
      const all = contestants(service, connections);
      return report(await measure(service, all, rounds, seconds), all, json);
    } finally {
      await service.stop();
    }
  } finally {
    await postgres.stop();
    await folder.remove();
  }
}

async function measure(
  service: Service,
  all: readonly Contestant[],
  rounds: number,
  seconds: number,
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const cpuOfAll = async (): Promise<number> => {
    const each = await Promise.all([service.gateway, ...service.agents].map(cpuMicroseconds));
    return each.reduce((sum, one) => sum + one, 0);
  };
  const results = new Map<string, Measured[]>();
  for (const { load: each } of all) await load(each, 1);
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`);
    for (const { title, load: each } of all) {
      const before = await cpuOfAll();
      const { calls, p50Ms, p99Ms, seconds: took } = await load(each, seconds);
      const cpu = ((await cpuOfAll()) - before) / calls;
      const measured = { callsPerSecond: calls / took, p50Ms, p99Ms, cpuMicroseconds: cpu };
      results.set(title, [...(results.get(title) ?? []), measured]);
    }
  }
  return results;
}

function report(
  results: ReadonlyMap<string, readonly Measured[]>,
  all: readonly Contestant[],
  json: boolean,
): number {
  const rows = all.map(({ title, against }) => {
    const measured = results.get(title) ?? [];
    const base = against === undefined ? undefined : results.get(against);
    // Of each round with itself: the machine's speed differs from minute to minute.
    const ratios = measured.flatMap(({ cpuMicroseconds: cpu }, at) => {
      const other = base?.[at];
      return other === undefined ? [] : [cpu / other.cpuMicroseconds];
    });
    return {
      title,
      callsPerSecond: median(measured.map((each) => each.callsPerSecond)),
      p50Ms: median(measured.map((each) => each.p50Ms)),
      p99Ms: median(measured.map((each) => each.p99Ms)),
      cpuMicroseconds: median(measured.map((each) => each.cpuMicroseconds)),
      ratio:
        ratios.length === 0
          ? undefined
          : { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) },
    };
  });
  if (json) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else {
    process.stdout.write(`${'call'.padEnd(34)}calls/s   p50 ms   p99 ms   CPU us   CPU against REST\n`);
    for (const row of rows) {
      const ratio =
        row.ratio === undefined
          ? ''
          : `${row.ratio.median.toFixed(2)} (${row.ratio.least.toFixed(2)} to ${row.ratio.most.toFixed(2)})`;
      process.stdout.write(
        `${row.title.padEnd(34)}${String(Math.round(row.callsPerSecond)).padStart(7)}${row.p50Ms.toFixed(1).padStart(9)}${row.p99Ms.toFixed(1).padStart(9)}${row.cpuMicroseconds.toFixed(0).padStart(9)}   ${ratio}\n`,
      );
    }
  }
  const missed = rows.filter(({ ratio }) => ratio !== undefined && ratio.median > GOAL);
  for (const { title } of missed)
    process.stderr.write(`missed: ${title} costs more than ${GOAL} times the REST call\n`);
  return missed.length === 0 ? 0 : 1;
}
