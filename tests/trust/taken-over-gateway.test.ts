import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DESCRIBE_CAPABILITY, type Frame, type Metadata } from '@svc/protocol';
import {
  createReleasers,
  makeAgentFolder,
  startProcess,
  temporaryFolder,
  testDatabase,
  type TestDatabase,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  startGateway,
  type AgentSide,
} from '../../packages/agent/src/gateway-link/gateway-by-hand.testing.ts';

/** What SECURITY.md says that whoever takes over the gateway can do, and cannot: the gateway is this process. */
const PASSWORD = `password-${randomUUID()}`;
const CAPABILITIES = `
identity: { trust: gateway }
capabilities:
  own_orders:
    sql: select id from orders order by id
    expose_in_openapi: false
    result: { id: { type: integer } }
  order_of_tenant:
    sql: select id from orders where tenant = :tenant and id >= :least order by id
    params:
      tenant: { type: string, from: principal.claims.tenant }
      least: { type: integer, required: true, minimum: 1 }
    policy: { max_rows: 1 }
    result: { id: { type: integer } }
  slow: { sql: select pg_sleep(30) is null as woke, policy: { timeout: 200ms, allow_functions: [pg_sleep] }, result: { woke: { type: boolean } } }
  divide:
    sql: select 1 / (id - 1) as n from orders order by id
    result: { n: { type: integer } }
`;

const releasers = createReleasers();
let database: TestDatabase;
let role: string;
let side: AgentSide;
let lastId = 0;

beforeAll(async () => {
  database = await testDatabase({
    sql: [
      `create table orders (id int primary key, tenant text not null);
       create table secrets (id int);
       insert into orders values (1, 'north'), (2, 'south'), (3, 'south');
       alter table orders enable row level security;
       create policy own on orders using (current_setting('svc.api_key_name', true) in (tenant, 'all'))`,
    ],
  });
  role = `${database.name}_reader`;
  await database.execute(
    `create role ${role} login password '${PASSWORD}'; grant select on orders to ${role}`,
  );
  await releasers.add(() => database.execute(`drop owned by ${role}; drop role ${role}`));
  const gateway = await startGateway({ features: ['databases'] });
  await releasers.add(() => gateway.close());
  const temporary = await temporaryFolder('taken-over');
  await releasers.add(() => temporary.remove());
  const folder = join(temporary.path, 'agent');
  await makeAgentFolder(folder, {
    'capability.yaml': `gateway: { url: "${gateway.url}", agent_private_key: ${gateway.agentPrivateKey} }
database: { host: ${database.host}, port: ${database.port}, name: ${database.name}, user: ${role}, password: ${PASSWORD} }
${CAPABILITIES}`,
  });
  const agent = await startProcess(join(folder, 'svc-agent'), [], { cwd: folder });
  await releasers.add(() => agent.stop());
  side = await gateway.next();
});
afterAll(() => releasers.closeAll());

async function call(capability: string, metadata: Metadata = {}, params: object = {}): Promise<Frame> {
  const id = ++lastId;
  const bytes = Buffer.from(JSON.stringify(params));
  side.say({
    type: 'request',
    id,
    capability,
    timeoutMs: 600_000,
    metadata: { request_id: `request-${id}`, principal: 'key:x', ...metadata },
    paramsLength: bytes.length,
    params: bytes,
    fin: true,
  });
  return side.answer(id);
}

async function idsOf(capability: string, metadata: Metadata, params?: object): Promise<unknown> {
  const answer = await call(capability, metadata, params);
  if (answer.type !== 'result') throw new Error(JSON.stringify(answer));
  const rows: { id: number }[] = JSON.parse(Buffer.from(answer.rows).toString());
  return rows.map(({ id }) => id);
}

test('it is any key and has any claims, for capabilities that descriptions hide, too', async () => {
  expect(await idsOf('own_orders', { api_key_name: 'north' })).toEqual([1]);
  expect(await idsOf('own_orders', { api_key_name: 'all' })).toEqual([1, 2, 3]);
  const claims = JSON.stringify({ tenant: 'south' });
  expect(await idsOf('order_of_tenant', { api_key_name: 'all', claims }, { least: 3 })).toEqual([3]);
});

test.each(['select * from secrets', 'secrets', 'OWN_ORDERS', 'own_orders; select 1', '$explain'])(
  'it runs nothing but the capabilities: not %s',
  async (capability) => {
    const answer = await call(capability, { api_key_name: 'all' });
    expect(answer).toMatchObject({ type: 'error', code: 'AGENT_UNKNOWN_CAPABILITY', notStarted: true });
  },
);

test('the agent checks parameters and keeps the caps and the time limit of its file', async () => {
  const metadata = { api_key_name: 'all', claims: JSON.stringify({ tenant: 'south' }) };
  for (const params of [{ least: 0 }, { least: '1 or true' }, { least: 1, tenant: 'north' }, {}]) {
    const answer = await call('order_of_tenant', metadata, params);
    expect(answer).toMatchObject({ type: 'error', code: 'AGENT_INVALID_PARAMS' });
  }
  expect(await call('order_of_tenant', metadata, { least: 1 })).toMatchObject({
    type: 'result',
    count: 1,
    truncated: true,
  });
  expect(await call('slow')).toMatchObject({ type: 'error', code: 'AGENT_QUERY_TIMEOUT' });
});

test('it learns no SQL, nothing of the database connection, and no words of the server', async () => {
  const failed = await call('divide', { api_key_name: 'all' });
  expect(failed).toMatchObject({ type: 'error', code: 'AGENT_QUERY_FAILED' });
  const described = await call(DESCRIBE_CAPABILITY);
  if (described.type !== 'result') throw new Error(JSON.stringify(described));
  const databases = await side.frame('databases');
  expect(databases).toMatchObject({ databases: [{ name: 'database', state: 'ready' }] });
  const told = side.received.map((frame) => {
    const body = frame.type === 'result' ? Buffer.from(frame.rows).toString() : '';
    return `${JSON.stringify(frame)}${body}`;
  });
  const everything = `${told.join('')}${JSON.stringify(side.hello)}`;
  expect(everything.includes('order_of_tenant')).toBe(true);
  const secrets = [PASSWORD, role, database.name, 'select ', 'pg_sleep', 'division', 'SQLSTATE', 'secrets'];
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});
