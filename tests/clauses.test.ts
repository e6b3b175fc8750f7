import { join } from 'node:path';
import { runProcess, startService, testDatabase, type Service } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';

const SQL = `
  create table invoice (id int primary key, customer_id int not null, issued_on date not null, total numeric(10, 2));
  insert into invoice select i, i % 7, date '2024-01-01' + i % 50, i % 11 from generate_series(1, 100) i;
`;

const CAPABILITIES = `
capabilities:
  list_invoices:
    description: Invoices
    sql: select id, issued_on, total from invoice where {filters}
    params:
      customer: { type: integer, filter: customer_id = :customer }
      from: { type: date, filter: issued_on >= :from }
    sort:
      newest: issued_on desc
      largest: total desc
    paging: id
    policy: { max_rows: 30 }
    result:
      id: { type: integer, nullable: false }
      issued_on: { type: date }
      total: { type: number }
  unordered:
    description: Invoices of a customer
    sql: select id from invoice where {filters}
    params:
      customer: { type: integer, filter: customer_id = :customer }
    result:
      id: { type: integer }
`;

interface Page {
  readonly rows: readonly { readonly id: number }[];
  readonly truncated?: true;
  readonly next?: { readonly cursor: string };
}

/** The last has workers: its answers pass between processes. */
const GATEWAYS = [{}, { GATEWAY_WORKERS: '2' }] as const;
let services: readonly Service[];
beforeAll(async () => {
  const database = await testDatabase({ sql: [SQL] });
  services = await Promise.all(
    GATEWAYS.map((gatewayEnv) => startService({ database, capabilities: CAPABILITIES, gatewayEnv })),
  );
});
afterAll(() => Promise.all(services.map((service) => service.stop())));

async function walk(service: Service, params: object): Promise<readonly number[]> {
  const ids: number[] = [];
  let next: Page['next'];
  do {
    const { status, text } = await service.call('list_invoices', { ...params, ...next });
    expect(status).toBe(200);
    const page: Page = JSON.parse(text);
    ids.push(...page.rows.map(({ id }) => id));
    expect(page.next === undefined).toBe(page.truncated === undefined);
    ({ next } = page);
  } while (next !== undefined);
  return ids;
}

test.each(GATEWAYS.map((env, at) => [JSON.stringify(env), at] as const))(
  'callers follow `next` to the last row, with %s',
  async (_env, at) => {
    const service = services[at];
    if (service === undefined) throw new Error('no service');
    // Each call may go to either worker.
    for (let round = 0; round < 6; round += 1) {
      const newest = await walk(service, {});
      expect(new Set(newest).size).toBe(100);
      expect(newest).toHaveLength(100);
    }
    const all = Array.from({ length: 100 }, (_, index) => index + 1);
    const largest = all.toSorted((a, b) => (b % 11) - (a % 11) || b - a);
    expect(await walk(service, { sort: 'largest' })).toEqual(largest);
    expect(await walk(service, { sort: 'largest', customer: 3 })).toEqual(
      largest.filter((id) => id % 7 === 3),
    );
  },
);

test('a cursor of another call is a fault of the caller, and so is one that was altered', async () => {
  const [service] = services;
  const { text = '' } = (await service?.call('list_invoices', {})) ?? {};
  const first: Page = JSON.parse(text);
  const { cursor } = first.next ?? {};
  for (const params of [
    { cursor, customer: 3 },
    { cursor, sort: 'largest' },
    { cursor: `${cursor}x` },
    { cursor: '' },
  ]) {
    const answer = await service?.call('list_invoices', params);
    expect(answer?.status).toBe(400);
    expect(answer?.json).toMatchObject({
      error: { code: 'AGENT_INVALID_PARAMS', message: 'cursor: does not belong to this call' },
    });
  }
});

test('the schemas of callers have `sort` and `cursor`, `next`, and no condition', async () => {
  const [service] = services;
  const { json, text } = (await service?.get('/openapi.json')) ?? {};
  const post = (name: string): unknown =>
    Object(json).paths[`/api/v1/capabilities/${name}`].post.requestBody.content['application/json'].schema;
  expect(post('list_invoices')).toMatchObject({
    properties: {
      customer: { type: ['integer', 'null'] },
      sort: { enum: expect.arrayContaining(['newest', 'largest']), default: 'newest' },
      cursor: { maxLength: 8192 },
    },
  });
  expect(post('unordered')).not.toHaveProperty('properties.cursor');
  expect(text).not.toContain('customer_id');
  expect(text).toContain('"next"');
});

test('CSV tells the cursor in a header', async () => {
  const [service] = services;
  const answer = await service?.call('list_invoices', {}, { headers: { accept: 'text/csv' } });
  expect(JSON.parse(decodeURIComponent(answer?.headers.get('svc-next') ?? ''))).toEqual({
    cursor: expect.any(String),
  });
});

/** Runs the agent beside the file of the first service. */
async function agent(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const folder = services[0]?.agentFolder(0) ?? '';
  return runProcess(join(folder, 'svc-agent'), [...args], { cwd: folder, env: process.env });
}

test('`check` counts what may run, and what was planned', async () => {
  const { stdout } = await agent('check');
  expect(stdout).toContain('list_invoices: 2 filters, 2 orders, 16 statements, 7 planned\n');
  expect(stdout).toContain('unordered: 1 filter, 0 orders, 2 statements, 3 planned\n');
  const report: unknown = JSON.parse((await agent('check', '--json')).stdout);
  expect(report).toMatchObject({
    statements: { list_invoices: { filters: 2, orders: 2, statements: 16, planned: 7 } },
  });
});

test('`try --sql` prints the statement alone and runs nothing; `--explain` runs the same', async () => {
  const none = await agent('try', 'unordered', '--sql');
  expect(none).toMatchObject({ code: 0, stdout: 'select id from invoice where (true)\n' });
  const all = await agent('try', 'list_invoices', '-p', 'customer=3', '-p', 'sort=largest', '--sql');
  expect(all.stdout).toMatch(
    /^select \* from \(\nselect id, issued_on, total from invoice where \(customer_id = +\(\$1::[\w.]+\) +\)\n\) svc_q order by svc_q\."total" desc, svc_q\."id" desc\n$/,
  );
  expect(await agent('try', 'list_invoices', '-p', 'sort=no_such', '--sql')).toMatchObject({
    code: 2,
    stdout: '',
  });
  const first = await agent('try', 'list_invoices', '--json');
  const { next, rows } = JSON.parse(first.stdout);
  expect(rows).toHaveLength(30);
  const second = await agent('try', 'list_invoices', '-p', `cursor=${next.cursor}`);
  expect(second.stdout).toContain('next page: the same command with --param cursor=');
  const explained = await agent('try', 'list_invoices', '-p', 'customer=3', '--explain', '--json');
  expect(JSON.parse(explained.stdout)).toMatchObject({ ok: true });
});
