import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DESCRIBE_CAPABILITY, type Description, type Frame, type Metadata } from '@svc/protocol';
import {
  createReleasers,
  createTokenIssuer,
  makeAgentFolder,
  runProcess,
  startProcess,
  temporaryFolder,
  testDatabase,
  type RunningProcess,
  type TestDatabase,
  type TokenIssuer,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  startGateway,
  type AgentSide,
  type SmallGateway,
} from '../../packages/agent/src/gateway-link/gateway-by-hand.testing.ts';

const NORTH = '6f1c2a5e-8a53-4a3e-9f4e-0d6b8a1f2c33';
const SOUTH = '11111111-2222-4333-8444-555555555555';
const ISS = 'https://id.example';
/** Nothing listens there. */
const AWAY = '{ name: away, issuer: "https://away.example", jwks_uri: "https://127.0.0.1:1/keys" }';
const KEY: Metadata = {
  principal: 'key:zq7key',
  api_key_name: 'zq7key',
  claims: JSON.stringify({ org_id: NORTH }),
};

const SCHEMA = `
  create table orders (id int primary key, tenant uuid not null);
  insert into orders values (1, '${NORTH}'), (2, '${SOUTH}'), (3, '${NORTH}');
  alter table orders enable row level security;
  create policy by_tenant on orders using (tenant =
    (select (nullif(current_setting('svc.claims', true), '')::jsonb ->> 'org_id')::uuid));
`;

const CAPABILITIES = `
capabilities:
  list_orders: { sql: select id from orders order by id, result: { id: { type: integer } } }
  count_orders:
    sql: select count(*) as n from (values (:tenant::uuid)) v (t) where :least < 2
    params:
      tenant: { type: uuid, from: principal.claims.org_id }
      least: { type: integer, default: 1 }
    result: { n: { type: integer } }
  who_calls:
    sql: >-
      select current_setting('svc.subject') as subject, current_setting('svc.issuer') as issuer,
      current_setting('svc.client_id') as client, current_setting('svc.api_key_name') as key,
      current_setting('svc.claims') as claims
    result:
      subject: { type: string }
      issuer: { type: string }
      client: { type: string }
      key: { type: string }
      claims: { type: string }
`;

const releasers = createReleasers();
let database: TestDatabase;
let role: string;
let issuer: TokenIssuer;
let gateway: SmallGateway;
let folder: string;
let agent: RunningProcess;
let side: AgentSide;
let lastId = 0;

beforeAll(async () => {
  database = await testDatabase({ sql: [SCHEMA] });
  role = `${database.name}_reader`;
  await database.execute(`create role ${role} login password 'reader'; grant select on orders to ${role}`);
  await releasers.add(() => database.execute(`drop owned by ${role}; drop role ${role}`));
  gateway = await startGateway();
  await releasers.add(() => gateway.close());
  issuer = createTokenIssuer(ISS, `http://127.0.0.1:${gateway.port}/mcp`);
  const temporary = await temporaryFolder('identity');
  await releasers.add(() => temporary.remove());
  folder = join(temporary.path, 'agent');
  await makeAgentFolder(folder, {
    'capability.yaml': fileWith(
      `identity: { trust: token, max_age: 2m, issuers: [{ name: id, issuer: "${ISS}", jwks_file: keys.json, claims: { org_id: org } }, ${AWAY}] }`,
    ),
    'keys.json': issuer.jwks,
  });
  agent = await startProcess(join(folder, 'svc-agent'), [], { cwd: folder });
  await releasers.add(() => agent.stop());
  side = await gateway.next();
});
afterAll(() => releasers.closeAll());

function fileWith(identity: string): string {
  return `gateway: { url: "${gateway.url}", agent_private_key: ${gateway.agentPrivateKey} }
database: { host: ${database.host}, port: ${database.port}, name: ${database.name}, user: ${role}, password: reader }
${identity}
${CAPABILITIES}`;
}

async function call(capability: string, metadata: Metadata, params: unknown = {}): Promise<Frame> {
  const id = ++lastId;
  const bytes = Buffer.from(JSON.stringify(params));
  side.say({
    type: 'request',
    id,
    capability,
    timeoutMs: 10_000,
    metadata: { request_id: `request-${id}`, ...metadata },
    paramsLength: bytes.length,
    params: bytes,
    fin: true,
  });
  return side.answer(id);
}

/** The rows of a call that succeeds. */
async function rowsOf(capability: string, metadata: Metadata, params?: unknown): Promise<unknown> {
  const answer = await call(capability, metadata, params);
  if (answer.type !== 'result') throw new Error(JSON.stringify(answer));
  return JSON.parse(Buffer.from(answer.rows).toString());
}

const anna = { sub: 'anna', azp: 'app', org: NORTH };
const bert = { sub: 'bert', org: SOUTH };
const tokenOf = (claims: object): Metadata => ({ token: issuer.token({ ...claims }) });

test(
  'an agent that asks who calls says so, and what its capabilities need',
  { tags: ['file:identity'] },
  async () => {
    expect(side.hello).toMatchObject({ versions: [2], identity: 'token' });
    const described = await call(DESCRIBE_CAPABILITY, {});
    if (described.type !== 'result') throw new Error(JSON.stringify(described));
    const description: Description = JSON.parse(Buffer.from(described.rows).toString());
    expect(description.identity).toEqual({ max_age: 120 });
    expect(description.manifest.map(({ name, needs }) => [name, needs])).toEqual([
      ['list_orders', undefined],
      ['count_orders', ['principal.claims.org_id']],
      ['who_calls', undefined],
    ]);
    expect(JSON.stringify(description.openapi)).not.toMatch(/tenant|org_id/);
  },
);

describe(
  'a gateway that lies about who calls',
  { tags: ['identity:lying-gateway', 'error:AGENT_PRINCIPAL_REFUSED'] },
  () => {
    const LIE: Metadata = {
      principal: 'token:id:bert',
      api_key_name: 'root',
      issuer: ISS,
      subject: 'bert',
      client_id: 'evil',
      claims: JSON.stringify({ org_id: SOUTH }),
    };

    test.each<[string, () => Metadata]>([
      ['makes up a subject', () => LIE],
      ['names an API key', () => KEY],
      ['says nothing', () => ({})],
      [
        'signs a token itself',
        () => ({ token: createTokenIssuer(ISS, `http://127.0.0.1:${gateway.port}/mcp`).token(bert) }),
      ],
      ['uses a token for another service', () => tokenOf({ ...bert, aud: 'https://other.example/mcp' })],
      [
        'replays a token that is too old',
        () => tokenOf({ ...bert, iat: Math.floor(Date.now() / 1000) - 200 }),
      ],
      [
        'replays a token that has expired',
        () => tokenOf({ ...bert, exp: Math.floor(Date.now() / 1000) - 60 }),
      ],
    ])('and %s gets nothing', async (_title, metadata) => {
      for (const capability of ['list_orders', 'count_orders', 'who_calls']) {
        const answer = await call(capability, metadata());
        expect(answer).toMatchObject({ type: 'error', code: 'AGENT_PRINCIPAL_REFUSED', notStarted: true });
        expect(JSON.stringify(answer)).not.toMatch(new RegExp(`bert|root|zq7key|${SOUTH}|${NORTH}`));
      }
    });

    test('changes nothing about a token that is good', async () => {
      const metadata = { ...LIE, ...tokenOf(anna) };
      expect(await rowsOf('who_calls', metadata)).toEqual([
        { subject: 'anna', issuer: ISS, client: 'app', key: '', claims: JSON.stringify({ org_id: NORTH }) },
      ]);
      expect(await rowsOf('list_orders', metadata)).toEqual([{ id: 1 }, { id: 3 }]);
    });
  },
);

test(
  'a token of an issuer whose keys are not known is told as a busy agent',
  { tags: ['identity:unavailable-keys'] },
  async () => {
    const metadata = tokenOf({ ...anna, iss: 'https://away.example' });
    expect(await call('list_orders', metadata)).toMatchObject({ code: 'AGENT_BUSY', notStarted: true });
    const log = (): Promise<string> => readFile(join(folder, 'svc-agent.log'), 'utf8');
    await expect.poll(log, { interval: 20 }).toMatch(/"event":"keys_fetch_failed","issuer":"away"/);
  },
);

describe('rows', { tags: ['identity:tenants', 'identity:settings'] }, () => {
  test('of 1,000 pipelined calls of two tenants are each their own', async () => {
    const [north, south, none] = [tokenOf(anna), tokenOf(bert), tokenOf({ sub: 'carl' })];
    const own = [[{ id: 1 }, { id: 3 }], [{ id: 2 }], []];
    await Promise.all(
      Array.from({ length: 1000 }, async (_, index) => {
        const metadata = [north, south, none][index % 3] ?? {};
        expect(await rowsOf('list_orders', metadata)).toEqual(own[index % 3]);
      }),
    );
  });
});

describe(
  'a value that is taken from who calls',
  { tags: ['capability:params.from', 'error:AGENT_PRINCIPAL_REFUSED'] },
  () => {
    test('is there whatever is sent', async () => {
      expect(await rowsOf('count_orders', tokenOf(anna))).toEqual([{ n: 1 }]);
      expect(await rowsOf('count_orders', tokenOf(anna), { least: 2 })).toEqual([{ n: 0 }]);
    });

    test.each(['{"tenant":1}', '{"tenant":null}', String.raw`{"t\u0065nant":"x"}`])(
      'is unknown as a parameter: %s',
      async (body) => {
        const params: unknown = JSON.parse(body);
        expect(await call('count_orders', tokenOf(anna), params)).toMatchObject({
          code: 'AGENT_INVALID_PARAMS',
          message: 'tenant: unknown parameter',
        });
        expect(await call('count_orders', {}, params)).toMatchObject({ code: 'AGENT_INVALID_PARAMS' });
      },
    );

    test.each<[string, unknown]>([
      ['absent', undefined],
      ['null', null],
      ['empty', ''],
      ['of another type', 5],
      ['no UUID', 'zq7value'],
      ['a list', [NORTH]],
    ])('and %s there refuses the call', async (_title, org) => {
      const answer = await call('count_orders', tokenOf({ sub: 'anna', org }));
      expect(answer).toMatchObject({ type: 'error', code: 'AGENT_PRINCIPAL_REFUSED', notStarted: true });
      expect(JSON.stringify(answer)).not.toMatch(/zq7value|tenant/);
    });
  },
);

test('the log says who calls and on whose word, and holds no token and no claim', async () => {
  const token = issuer.token({ ...anna, org: SOUTH });
  await call('list_orders', { token });
  await call('list_orders', KEY);
  const ids = [lastId - 1, lastId].map((id) => `request-${id}`);
  await agent.stop();
  const text = await readFile(join(folder, 'svc-agent.log'), 'utf8');
  const records: readonly Record<string, unknown>[] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [known, refused] = ids.map((id) => records.find((record) => record['request_id'] === id));
  expect(known).toMatchObject({
    api_key_name: '',
    principal: 'token:id:anna',
    issuer: ISS,
    client_id: 'app',
    verified_by: 'token',
    outcome: 'OK',
  });
  expect(refused).toMatchObject({
    api_key_name: '',
    principal: '',
    outcome: 'AGENT_PRINCIPAL_REFUSED',
    detail: 'there is no token, and API keys are refused',
  });
  expect(refused).not.toHaveProperty('verified_by');
  const [, payload = '', signature = ''] = token.split('.');
  for (const secret of [payload, signature, SOUTH, NORTH, 'zq7']) {
    expect(text).not.toContain(secret);
    expect(agent.output()).not.toContain(secret);
  }
});

test(
  '`svc-agent check` says what identity means, and looks at the key files',
  { tags: ['file:identity'] },
  async () => {
    const check = async (...flags: readonly string[]): Promise<{ code: number | null; output: string }> => {
      const ran = await runProcess(join(folder, 'svc-agent'), ['check', '--offline', ...flags], {
        cwd: folder,
      });
      return { code: ran.code, output: ran.stdout };
    };
    expect(await check()).toMatchObject({
      code: 0,
      output: expect.stringContaining(
        '\nidentity: tokens of id, away, verified here; no API keys; tokens are at most 120 s old; 1 capability takes something from the caller\n',
      ),
    });
    const { output } = await check('--json');
    expect(JSON.parse(output)).toMatchObject({
      ok: true,
      identity: {
        trust: 'token',
        accepts_keys: false,
        max_age_s: 120,
        issuers: ['id', 'away'],
        capabilities: 1,
      },
    });
    await writeFile(join(folder, 'keys.json'), '{"keys":[]}');
    expect(await check()).toMatchObject({
      code: 2,
      output: expect.stringMatching(
        /capability\.yaml:3:\d+  identity\.issuers\.0: jwks_file has no key that can be used/,
      ),
    });
    await writeFile(join(folder, 'capability.yaml'), fileWith('identity: { trust: gateway }'));
    expect(await check()).toMatchObject({
      code: 0,
      output: expect.stringContaining(
        '\nidentity: the gateway tells who calls, for tokens and API keys; 1 capability takes something from the caller\n',
      ),
    });
  },
);
