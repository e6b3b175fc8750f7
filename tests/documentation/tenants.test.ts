import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createKey,
  runProcess,
  startService,
  SVC_GATEWAY,
  temporaryFolder,
  testDatabase,
  type Answer,
  type Service,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocument } from './documents.ts';
import { createLookAlikeKey } from './look-alikes.testing.ts';

/** Goes the way of the guide: its SQL, its file, its key and its issuer, on a real PostgreSQL. */
const guide = readDocument('docs/guides/tenants.md');
const blocksOf = (kind: string): readonly string[] =>
  guide.blocks.filter(({ language, mark }) => `${language} ${mark}`.trim() === kind).map(({ text }) => text);

const NORTH = '11111111-1111-4111-8111-111111111111';
const SOUTH = '22222222-2222-4222-8222-222222222222';
const RESOURCE = 'http://127.0.0.1:1/mcp';
const reader = `crm_reader_${randomBytes(4).toString('hex')}`;
const here = (sql = ''): string => sql.replaceAll('crm_reader', reader);
const [schema, policy, policyAlone, withoutPolicy] = blocksOf('sql tenants').map(here);

/** What the command of the guide prints, for another caller where `changed` says so. */
async function keyOfTheGuide(
  changed: (command: string) => string = (command) => command,
): Promise<{ readonly api_key: string; readonly record: object }> {
  const command = guide.blocks.find(({ text }) => text.includes('create-key'))?.text ?? '';
  const words = changed(command).replaceAll('\\\n', ' ').trim().split(/\s+/).slice(1);
  const { code, stdout } = await runProcess(SVC_GATEWAY, [...words, '--json']);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

const key = createLookAlikeKey('k1');
const tokenOf = (tenant: unknown, ageSeconds = 0): string => {
  const now = Math.floor(Date.now() / 1000) - ageSeconds;
  const payload = {
    iss: 'https://login.example.com',
    aud: RESOURCE,
    sub: 'ada',
    scope: 'orders.read',
    iat: now,
  };
  return key.sign(
    { alg: 'RS256', kid: 'k1' },
    { ...payload, exp: now + 2 * 3600, 'https://example.com/org_id': tenant },
  );
};

let database: TestDatabase;
let folder: TemporaryFolder;
let service: Service;
let callers: Readonly<Record<string, string>>;
beforeAll(async () => {
  database = await testDatabase();
  await database.execute(schema ?? '');
  folder = await temporaryFolder('tenants');
  await writeFile(join(folder.path, 'jwks.json'), key.keySet);
  const [north, south, nobody] = await Promise.all([
    keyOfTheGuide(),
    keyOfTheGuide((command) => command.replace('north', 'south').replace(NORTH, SOUTH)),
    createKey('nobody', '*'),
  ]);
  callers = { north: north.api_key, south: south.api_key, nobody: nobody.api_key, token: tokenOf(SOUTH) };
  const [file = ''] = blocksOf('yaml complete');
  const total = guide.blocks.find(({ text }) => text.includes('order_total'))?.text ?? '';
  const all = [north, south, nobody].map(({ record: keyRecord }) => ({ ...keyRecord, capabilities: ['*'] }));
  service = await startService({
    database: { ...database, user: reader, password: 'choose-a-long-one' },
    capabilities: `${file.slice(file.indexOf('identity:'))}${total.slice(total.indexOf('  order_total:'))}`,
    gatewayEnv: {
      GATEWAY_PUBLIC_URL: 'http://127.0.0.1:1',
      GATEWAY_API_KEYS_JSON: JSON.stringify(all),
      GATEWAY_ISSUERS_JSON: JSON.stringify(issuers()),
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await folder?.remove();
  await database.execute(`drop owned by ${reader}; drop role ${reader}`);
});

/** The issuer of the guide, with keys of ours, and whose tokens may call everything. */
function issuers(): readonly object[] {
  const [record] = JSON.parse(blocksOf('json issuers')[0] ?? '[]');
  const grants = [{ ...record.grants[0], capabilities: ['*'] }];
  return [{ ...record, grants, jwks_file: join(folder.path, 'jwks.json') }];
}

const call = (caller: string, capability: string, params: object = {}): Promise<Answer> =>
  service.call(capability, params, {
    key: null,
    headers: { authorization: `Bearer ${callers[caller] ?? caller}` },
  });
const ids = async (answer: Promise<Answer>): Promise<unknown> => {
  const { status, text } = await answer;
  const { rows }: { readonly rows?: readonly { readonly id: number }[] } = JSON.parse(text);
  return [status, rows?.map(({ id }) => id)];
};
const refused = (status: number, code: string): object => ({ status, json: { error: { code } } });

describe('what callers see', () => {
  test('each sees the orders of its own tenant, by key and by token', async () => {
    expect(await ids(call('north', 'list_orders'))).toEqual([200, [1, 2]]);
    expect(await ids(call('south', 'list_orders'))).toEqual([200, [3]]);
    expect(await ids(call('token', 'list_orders'))).toEqual([200, [3]]);
    expect(await ids(call('north', 'get_order', { id: 1 }))).toEqual([200, [1]]);
    expect(await ids(call('north', 'get_order', { id: 3 }))).toEqual([200, []]);
  });

  test('a tenant that is sent is an unknown parameter', async () => {
    for (const tenant of [NORTH, SOUTH]) {
      expect(await call('north', 'get_order', { id: 3, tenant })).toMatchObject(
        refused(400, 'AGENT_INVALID_PARAMS'),
      );
    }
  });

  test('who has no tenant, or none that fits, is refused', async () => {
    const tokens = [undefined, '', 'north', [NORTH], null].map(tokenOf);
    for (const caller of ['nobody', ...tokens]) {
      expect(await call(caller, 'list_orders')).toMatchObject(refused(403, 'AGENT_PRINCIPAL_REFUSED'));
    }
  });

  test('the description has neither the parameter, nor for such callers the capability', async () => {
    const described = async (caller: string): Promise<string> => {
      const headers = { authorization: `Bearer ${callers[caller]}` };
      return (await service.get('/openapi.json', { key: null, headers })).text;
    };
    const forNorth = await described('north');
    expect(forNorth).toContain('/api/v1/capabilities/get_order');
    expect(forNorth).not.toContain('"tenant"');
    const { paths }: { readonly paths: object } = JSON.parse(await described('nobody'));
    expect(Object.keys(paths)).toEqual(['/api/v1/capabilities/order_total']);
  });
});

describe('the policy', () => {
  test('finds the orders of the caller where the query does not look at tenants', async () => {
    const orders = async (caller: string): Promise<unknown> => (await call(caller, 'order_total')).json;
    expect(await database.query(withoutPolicy ?? '')).toEqual([{ without_policy: 'crm.orders' }]);
    expect(await orders('north')).toMatchObject({ rows: [{ orders: 3 }] });
    await database.execute(policy ?? '');
    expect(await database.query(withoutPolicy ?? '')).toEqual([]);
    expect(await orders('north')).toMatchObject({ rows: [{ orders: 2, total: 360 }] });
    expect(await orders('south')).toMatchObject({ rows: [{ orders: 1, total: 95 }] });
    expect(await orders('token')).toMatchObject({ rows: [{ orders: 1, total: 95 }] });
    expect(await orders('nobody')).toMatchObject({ rows: [{ orders: 0 }] });
  });

  test('alone shows one order with the claim, and none without', async () => {
    const { host, port, name, user, password } = database;
    const client = new Client({ host, port, database: name, user, password });
    await client.connect();
    try {
      const counts: unknown[] = [];
      for (const statement of (policyAlone ?? '').split(';\n')) {
        const { rows } = await client.query<{ readonly count?: string }>(statement);
        counts.push(...rows.map(({ count }) => count));
      }
      expect(counts.filter((count) => count !== undefined)).toEqual(['1', '0']);
    } finally {
      await client.end();
    }
  });
});

test('an agent that trusts tokens refuses keys, and tokens that are older than it takes', async () => {
  const [file = ''] = blocksOf('yaml complete');
  const identity = guide.blocks.find(({ text }) => text.includes('trust: token'))?.text ?? '';
  const ours = `audiences: [${RESOURCE}]\n      jwks_file: ${join(folder.path, 'jwks.json')}`;
  const trusting = await startService({
    database: { ...database, user: reader, password: 'choose-a-long-one' },
    capabilities:
      identity.replace('claims:', `${ours}\n      claims:`) + file.slice(file.indexOf('capabilities:')),
    gatewayEnv: {
      GATEWAY_PUBLIC_URL: 'http://127.0.0.1:1',
      GATEWAY_ISSUERS_JSON: JSON.stringify(issuers()),
    },
  });
  const ask = (token: string): Promise<Answer> =>
    trusting.call('list_orders', {}, { key: null, headers: { authorization: `Bearer ${token}` } });
  try {
    expect(await ids(ask(tokenOf(SOUTH)))).toEqual([200, [3]]);
    expect(await trusting.call('list_orders', {})).toMatchObject(refused(403, 'AGENT_PRINCIPAL_REFUSED'));
    const old = await ask(tokenOf(SOUTH, 3700));
    expect([old.status, old.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('the access token has expired'),
    ]);
  } finally {
    await trusting.stop();
  }
});
