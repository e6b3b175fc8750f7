import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  runProcess,
  startPostgres,
  startService,
  type Postgres,
  type Releasers,
  type Service,
} from '@svc/testkit';
import { table } from '../scripts/docs/markdown.ts';
import { treeMicroseconds } from './load/process-tree.ts';
import { load, whyNoLoad } from './load/wrk.ts';
import { exactly, goalsTable, judged, type Goal } from './report/goals.ts';
import { readOptions, say } from './report/options.ts';
import { estimate, fixed, median, type Estimate } from './report/statistics.ts';
import { untilStopped } from './report/until-stopped.ts';

const USAGE = `Usage: npm run bench:clauses [-- --rounds N --seconds S]

What filters, orders and pages cost on PostgreSQL, beside \`(:x is null or ...)\` and a CASE in ORDER BY: CPU of a call, with that
of the database, over a table of two million rows. All run in N rounds (default 10) of S seconds (default 2), one after the
other; ratios are taken within each round. Linux only; needs wrk and a quiet machine.

Ends with 1 when a goal is missed, 2 for wrong usage or a missing program.
`;

const DATABASE = 'clauses';
const ROWS = 2_000_000;
const CONNECTIONS = 8;
const DAYS = 3650;
/** From the last day on, a million rows come before those of this one. */
const DEEP_DAY = DAYS / 2;

const SCHEMA = `
  create table invoice (id int primary key, customer_id int not null, status text not null, region text not null,
    issued_on date not null, total numeric(10, 2) not null, paid_at timestamptz);
  insert into invoice select i, i % 20000, 's' || i % 5, 'r' || i % 11, date '2015-01-01' + i % ${DAYS}, i % 9973,
    case when i % 3 > 0 then timestamptz '2024-01-01Z' end from generate_series(1, ${ROWS}) i;
  create index on invoice (issued_on, id); create index on invoice (total, id); create index on invoice (customer_id);
  vacuum analyze invoice;
`;

/** In the order in which the sets add them. */
const FILTERS: readonly (readonly [name: string, type: string, condition: string, value: unknown])[] = [
  ['customer', 'integer', 'customer_id = :customer', 77],
  ['from', 'date', 'issued_on >= :from', '2016-01-01'],
  ['to', 'date', 'issued_on < :to', '2024-01-01'],
  ['unpaid', 'boolean', '(paid_at is null) = :unpaid', false],
  ['status', 'string', 'status = :status', 's2'],
  ['least', 'number', 'total >= :least', 5],
];
const SETS = [0, 1, 2, 3, 6] as const;
const FIELDS = 'id, status, region, issued_on, total';
const RESULT = `result: { id: { type: integer, nullable: false }, status: { type: string }, region: { type: string },
      issued_on: { type: date, nullable: false }, total: { type: number, nullable: false } }`;

function list(name: string, maxRows: number, rest: string): string {
  return `  ${name}:\n    policy: { max_rows: ${maxRows} }\n    ${RESULT}\n${rest}`;
}

function capabilities(): string {
  const params = (isFilter: boolean): string =>
    FILTERS.map(
      ([name, type, condition]) =>
        `      ${name}: { type: ${type}${isFilter ? `, filter: '${condition}'` : ''} }\n`,
    ).join('');
  const sort = `    sort: { newest: issued_on desc, largest: total desc }\n`;
  const today = FILTERS.map(([name, , condition]) => `(:${name} is null or ${condition})`).join(' and ');
  return `capabilities:
${list('today', 20, `    sql: select ${FIELDS} from invoice where ${today} order by case when :by = 'largest' then total end desc, case when :by = 'newest' then issued_on end desc, id desc\n    params:\n${params(false)}      by: { type: string, default: newest }\n`)}
${list('assembled', 20, `    sql: select ${FIELDS} from invoice where {filters}\n    params:\n${params(true)}${sort}`)}
${list('unpaged', 100, `    sql: select ${FIELDS} from invoice\n${sort}`)}
${list('paged', 100, `    sql: select ${FIELDS} from invoice\n${sort}    paging: id\n`)}`;
}

interface Case {
  readonly name: string;
  readonly capability: string;
  readonly params: object;
}

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(USAGE, args, { rounds: [10, 1000], seconds: [2, 600] });
  if (typeof options === 'number') return options;
  const unable = whyNoLoad();
  if (unable !== undefined) {
    say(unable);
    return 2;
  }
  const order = { rounds: options.number('rounds'), seconds: options.number('seconds') };
  return untilStopped((releasers) => run(order, releasers));
}

async function run(
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  releasers: Releasers,
): Promise<number> {
  const postgres = await startPostgres();
  await releasers.add(() => postgres.stop());
  await postgres.createDatabase(DATABASE);
  say(`filling a table of ${ROWS} rows`);
  for (const statement of SCHEMA.split(';\n'))
    if (statement.trim() !== '') await postgres.execute(DATABASE, statement);
  const { host, port, user, password } = postgres;
  const service = await startService({
    database: { host, port, user, password, name: DATABASE },
    capabilities: capabilities(),
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
  });
  await releasers.add(() => service.stop());
  const cases = [...setCases(), ...(await pageCases(service))];
  const figures = new Map<string, number[]>();
  const databases = new Map<string, number[]>();
  for (let round = 0; round <= rounds; round += 1) {
    say(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    for (const each of cases) {
      const { all, database } = await measure(service, postgres, each, seconds);
      if (round === 0) continue;
      figures.set(each.name, [...(figures.get(each.name) ?? []), all]);
      databases.set(each.name, [...(databases.get(each.name) ?? []), database]);
    }
  }
  const checkSeconds = await timeCheck(service);
  const ratio = (of: Map<string, number[]>, name: string, to: string): Estimate | undefined =>
    estimate((of.get(name) ?? []).map((value, at) => value / (of.get(to)?.[at] ?? Number.NaN)));
  const goals = [
    ...SETS.map((set) =>
      judged(
        goal(`${set} filters: CPU to today's`, set <= 2 ? 0.7 : 1),
        ratio(figures, `assembled, ${set}`, `today, ${set}`),
      ),
    ),
    judged(goal('page at row 1,000,000 to the first: CPU', 2), ratio(figures, 'deep page', 'first page')),
    judged(
      goal('100 rows with a cursor to none: CPU of the database', 1.15),
      ratio(databases, 'first page', 'no pages'),
    ),
    judged(goal('check, 100 lists with 12 filters and 3 orders, to 8 s', 1), exactly(checkSeconds / 8)),
  ];
  const rows = cases.map(({ name }) => [
    name,
    fixed(median(figures.get(name) ?? []), 0),
    fixed(median(databases.get(name) ?? []), 0),
  ]);
  process.stdout.write(`${table(['', 'CPU us', 'of the database'], rows)}\n${goalsTable(goals)}`);
  return goals.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
}

function goal(title: string, most: number): Goal {
  return { title, unit: 'x', bound: { most } };
}

function setCases(): readonly Case[] {
  return SETS.flatMap((set) => {
    const params = Object.fromEntries(FILTERS.slice(0, set).map(([name, , , value]) => [name, value]));
    return [
      { name: `today, ${set}`, capability: 'today', params },
      { name: `assembled, ${set}`, capability: 'assembled', params },
    ];
  });
}

/** A cursor of the first page, with the values of a deep row in the place of its own. */
async function pageCases(service: Service): Promise<readonly Case[]> {
  const { text } = await service.call('paged', {});
  const first: { readonly next: { readonly cursor: string } } = JSON.parse(text);
  const values: unknown[] = JSON.parse(Buffer.from(first.next.cursor, 'base64url').toString());
  const day = new Date(Date.UTC(2015, 0, 1 + DEEP_DAY)).toISOString().slice(0, 10);
  const deep = [day, String(DEEP_DAY + DAYS), values.at(-1)];
  const cursor = Buffer.from(JSON.stringify(deep)).toString('base64url');
  return [
    { name: 'no pages', capability: 'unpaged', params: {} },
    { name: 'first page', capability: 'paged', params: {} },
    { name: 'deep page', capability: 'paged', params: { cursor } },
  ];
}

async function measure(
  service: Service,
  postgres: Postgres,
  { capability, params }: Case,
  seconds: number,
): Promise<{ readonly all: number; readonly database: number }> {
  const roots = [service.gateway, ...service.agents];
  const own = async (): Promise<number> =>
    (await Promise.all(roots.map(treeMicroseconds))).reduce((sum, each) => sum + each, 0);
  const before = [await own(), await treeMicroseconds(postgres)] as const;
  const { calls } = await load(
    {
      url: service.url,
      path: `/api/v1/capabilities/${capability}`,
      connections: CONNECTIONS,
      headers: {
        authorization: `Bearer ${service.apiKeys['all'] ?? ''}`,
        'content-type': 'application/json',
      },
      bodies: [JSON.stringify(params)],
    },
    seconds,
  );
  const database = (await treeMicroseconds(postgres)) - before[1];
  return { all: ((await own()) - before[0] + database) / calls, database: database / calls };
}

/** Of a file beside that of the service, with its account. */
async function timeCheck(service: Service): Promise<number> {
  const folder = service.agentFolder(0);
  const file = await readFile(join(folder, 'capability.yaml'), 'utf8');
  const filters = Array.from({ length: 12 }, (_, at) => {
    const [name = '', type = '', condition = ''] = FILTERS[at % FILTERS.length] ?? [];
    return `      ${name}${at}: { type: ${type}, filter: '${condition.replaceAll(`:${name}`, `:${name}${at}`)}' }\n`;
  }).join('');
  const lists = Array.from({ length: 100 }, (_, at) =>
    list(
      `list_${at}`,
      20,
      `    sql: select ${FIELDS} from invoice where {filters}\n    params:\n${filters}    sort: { a: issued_on desc, b: total desc, c: id }\n    paging: id\n`,
    ),
  );
  const path = join(folder, 'many.yaml');
  await writeFile(path, `${file.slice(0, file.indexOf('capabilities:'))}capabilities:\n${lists.join('')}`);
  const started = performance.now();
  const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), ['check', '--config', path], {
    cwd: folder,
    withinMs: 120_000,
  });
  if (code !== 0) throw new Error(`check ended with ${code}\n${stdout}${stderr}`);
  return (performance.now() - started) / 1000;
}
