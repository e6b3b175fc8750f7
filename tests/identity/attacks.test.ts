import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createReleasers,
  startService,
  temporaryFolder,
  testDatabase,
  type Releasers,
  type Service,
} from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokenIssuer, type TokenIssuer } from './tokens.testing.ts';

/** What callers with tokens may not reach, tried from outside on running executables. */
const ISSUER_A = 'https://a.example';
const ISSUER_B = 'https://b.example';
const AUDIENCE = 'http://127.0.0.1:1/mcp';
const SCOPE = 'loans.read';
const READS = ['list_loans', 'whoami', 'hours'];
const MANY = Array.from({ length: 205 }, (_, index) => `many_${index}`);
const PINNED = 'pinned_tenant';

const SQL = `
  create table loan (tenant text not null, title text not null);
  insert into loan values ('north', 'Read in the north'), ('south', 'Read in the south');
  grant select on loan to public;
`;

const RECORDS = (folder: string): readonly object[] =>
  [
    ['a', ISSUER_A],
    ['b', ISSUER_B],
  ].map(([name, issuer]) => ({
    name,
    issuer,
    audiences: [AUDIENCE],
    jwks_file: join(folder, `${name}.json`),
    claims: { org_id: 'org_id' },
    grants: [
      { scope: SCOPE, capabilities: READS },
      { claim: 'groups', value: 'dba', capabilities: ['*'] },
    ],
  }));

const capabilityFile = (issuers: readonly object[]): string => `
identity: { trust: token, api_keys: accept, issuers: ${JSON.stringify(issuers)} }
capabilities:
  list_loans:
    description: The loans of the caller's organisation.
    sql: select title from loan where tenant = :${PINNED}
    params: { ${PINNED}: { type: string, from: principal.claims.org_id } }
    result: { title: { type: string } }
  whoami:
    description: What the database knows of the caller.
    sql: >-
      select current_setting('svc.api_key_name') as key, current_setting('svc.subject') as subject,
      current_setting('svc.issuer') as issuer, current_setting('svc.claims') as claims
    result: { key: { type: string }, subject: { type: string }, issuer: { type: string }, claims: { type: string } }
  hours:
    description: When it is open.
    sql: select 9 as opens
    result: { opens: { type: integer } }
${MANY.map((name) => `  ${name}: { description: One of many., sql: 'select 1 as one', result: { one: { type: integer } } }`).join('\n')}
`;

let releasers: Releasers;
let service: Service;
let a: TokenIssuer;
let b: TokenIssuer;

beforeAll(async () => {
  releasers = createReleasers();
  const folder = await temporaryFolder('tokens');
  await releasers.add(() => folder.remove());
  a = createTokenIssuer(ISSUER_A, AUDIENCE);
  b = createTokenIssuer(ISSUER_B, AUDIENCE);
  await writeFile(join(folder.path, 'a.json'), a.keySet);
  await writeFile(join(folder.path, 'b.json'), b.keySet);
  const records = RECORDS(folder.path);
  service = await startService({
    database: await testDatabase({ sql: [SQL] }),
    capabilities: capabilityFile(records),
    keys: { north: '*' },
    keyFields: { north: { claims: { org_id: 'north' } } },
    gatewayEnv: {
      GATEWAY_PUBLIC_URL: 'http://127.0.0.1:1',
      GATEWAY_ISSUERS_JSON: JSON.stringify(records),
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
    },
  });
  await releasers.add(() => service.stop());
});

afterAll(() => releasers.closeAll());

interface Seen {
  readonly status: number;
  readonly json: unknown;
  readonly text: string;
  readonly headers: Headers;
}

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

function call(token: string, capability: string, params: unknown = {}): Promise<Seen> {
  return service.call(capability, params, { key: null, headers: bearer(token) });
}

interface Tools {
  readonly tools: readonly { readonly name: string }[];
  readonly nextCursor: string | undefined;
}

interface RpcAnswer {
  readonly status: number;
  readonly text: string;
  /** Of `tools/list`; empty where it failed. */
  readonly list: Tools;
  /** Undefined where it succeeded. */
  readonly errorCode: unknown;
}

async function rpc(credential: string, method: string, params: unknown = {}): Promise<RpcAnswer> {
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { ...bearer(credential), 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await answer.text();
  const json: unknown = JSON.parse(text);
  const tools = at(json, 'result', 'tools');
  const nextCursor = at(json, 'result', 'nextCursor');
  return {
    status: answer.status,
    text,
    list: {
      tools: (Array.isArray(tools) ? tools : []).map((tool: unknown) => ({ name: String(at(tool, 'name')) })),
      nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
    },
    errorCode: at(json, 'error', 'code'),
  };
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null
        ? Object.entries(inner).find(([key]) => key === name)?.[1]
        : undefined,
    value,
  );
}

async function toolNames(credential: string): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const { list } = await rpc(credential, 'tools/list', cursor === undefined ? {} : { cursor });
    names.push(...list.tools.map(({ name }) => name));
    cursor = list.nextCursor;
  } while (cursor !== undefined);
  return names;
}

async function described(credential: string): Promise<readonly string[]> {
  const { json } = await service.get('/openapi.json', { key: null, headers: bearer(credential) });
  return Object.keys(at(json, 'paths') ?? {}).map((path) => path.split('/').at(-1) ?? '');
}

const code = ({ status, json }: Seen): readonly unknown[] => [status, at(json, 'error', 'code')];

describe('who presents a token', () => {
  test('gets the rows of its own tenant', async () => {
    const answer = await call(await a.mint('u1', { scope: SCOPE, org_id: 'north' }), 'list_loans');
    expect(answer.json).toEqual({ rows: [{ title: 'Read in the north' }], count: 1 });
  });

  test('may do so in Authorization alone', async () => {
    const token = await a.mint('u1', { scope: SCOPE, org_id: 'north' });
    const inKeyHeader = await service.call('hours', {}, { key: null, headers: { 'x-api-key': token } });
    expect(inKeyHeader.status).toBe(401);
    const inQuery = await service.get(`/openapi.json?access_token=${token}`, { key: null });
    expect(inQuery.status).toBe(401);
  });

  test('may not present an API key, too', async () => {
    const token = await a.mint('u1', { scope: SCOPE });
    const headers = { ...bearer(token), 'x-api-key': service.apiKeys['all'] ?? '' };
    const answer = await service.call('hours', {}, { key: null, headers });
    expect(code(answer)).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
  });

  test(
    'is another principal than one of the same name at another issuer',
    { tags: ['token:principal'] },
    async () => {
      const claims = { groups: ['dba'] };
      const [ofA, ofB] = await Promise.all([a.mint('u1', claims), b.mint('u1', claims)]);
      const cursor = (await rpc(ofA, 'tools/list')).list.nextCursor;
      expect(cursor).toBeTypeOf('string');
      expect((await rpc(ofA, 'tools/list', { cursor })).list.tools.length).toBeGreaterThan(0);
      expect((await rpc(ofB, 'tools/list', { cursor })).errorCode).toBe(-32602);
      expect((await rpc(await a.mint('u2', claims), 'tools/list', { cursor })).errorCode).toBe(-32602);
      const who = async (token: string): Promise<unknown> => (await call(token, 'whoami')).json;
      expect(await who(ofA)).toMatchObject({ rows: [{ subject: 'u1', issuer: ISSUER_A }] });
      expect(await who(ofB)).toMatchObject({ rows: [{ subject: 'u1', issuer: ISSUER_B }] });
    },
  );

  test('is not the key of the same name', { tags: ['token:principal'] }, async () => {
    const { json } = await call(await a.mint('north', { scope: SCOPE }), 'whoami');
    expect(json).toMatchObject({ rows: [{ key: '', subject: 'north', claims: '{}' }] });
    const ofKey = await service.call('whoami', {}, { key: 'north' });
    expect(ofKey.json).toMatchObject({ rows: [{ key: 'north', subject: '', issuer: '' }] });
  });

  test.each(['loans.readonly', 'x-loans.read', 'LOANS.READ', '*', 'loans', 'loans.read,other', ''])(
    'with the scope "%s" may call nothing',
    async (scope) => {
      const token = await a.mint('u1', { scope });
      const answer = await call(token, 'hours');
      expect(code(answer)).toEqual([403, 'GATEWAY_CAPABILITY_NOT_PERMITTED']);
      expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
      expect((await rpc(token, 'tools/list')).status).toBe(403);
    },
  );
});

test(
  'REST, tools/list and /openapi.json agree on what a token may do',
  { tags: ['token:grants'] },
  async () => {
    const claimSets = fc.record(
      {
        scope: fc.constantFrom(SCOPE, `openid ${SCOPE}`, 'openid', 'loans.readonly', ''),
        scp: fc.constantFrom([SCOPE], SCOPE, ['openid']),
        groups: fc.constantFrom('dba', ['dba', 'staff'], ['staff'], 'staff', ['DBA'], { dba: true }),
        org_id: fc.constantFrom<unknown>('north', 'south', '', null, ['north'], 7),
      },
      { requiredKeys: [] },
    );
    const property = fc.asyncProperty(claimSets, fc.constantFrom('a', 'b'), async (claims, from) => {
      const token = await (from === 'a' ? a : b).mint('u1', claims);
      const scopes = [claims.scope, claims.scp].flat().flatMap((each) => (each ?? '').split(' '));
      const isDba = [claims.groups].flat().includes('dba');
      const reads = scopes.includes(SCOPE);
      if (!isDba && !reads) {
        expect((await call(token, 'hours')).status).toBe(403);
        return;
      }
      const isPinned = claims.org_id === 'north' || claims.org_id === 'south' || claims.org_id === 7;
      const lists = [...(isPinned || Array.isArray(claims.org_id) ? ['list_loans'] : []), 'whoami', 'hours'];
      const [tools, paths, many] = await Promise.all([
        toolNames(token),
        described(token),
        call(token, 'many_7'),
      ]);
      expect(tools).toEqual([...lists, ...(isDba ? MANY : [])]);
      expect(paths).toEqual(tools);
      expect(many.status).toBe(isDba ? 200 : 403);
    });
    await fc.assert(property, { numRuns: 200, verbose: 1 });
  },
);

describe('a pinned parameter', () => {
  test(
    'that is sent is answered as any unknown one, however it is written',
    { tags: ['identity:pinned'] },
    async () => {
      const token = await a.mint('u1', { scope: SCOPE, org_id: 'north' });
      const send = async (name: string): Promise<Seen> => {
        const answer = await fetch(`${service.url}/api/v1/capabilities/list_loans`, {
          method: 'POST',
          headers: { ...bearer(token), 'content-type': 'application/json' },
          body: `{"${name}":"south"}`,
        });
        const text = await answer.text();
        return { status: answer.status, json: JSON.parse(text), text, headers: answer.headers };
      };
      const unknown = await send('no_such_name');
      expect(code(unknown)).toEqual([400, 'AGENT_INVALID_PARAMS']);
      const escaped = PINNED.replace('p', '\\u0070');
      for (const name of [PINNED, escaped]) {
        expect((await send(name)).text).toBe(unknown.text.replace('no_such_name', PINNED));
      }
    },
  );

  test.each([
    {},
    { org_id: null },
    { org_id: '' },
    { org_id: ['north'] },
    { org_id: { id: 'north' } },
    { org_id: 7 },
  ])('without a usable claim is refused: %j', async (claims) => {
    const answer = await call(await a.mint('u1', { scope: SCOPE, ...claims }), 'list_loans');
    expect(code(answer)).toEqual([403, 'AGENT_PRINCIPAL_REFUSED']);
    expect(answer.text).not.toContain(PINNED);
  });

  test('stands in no schema', { tags: ['identity:pinned'] }, async () => {
    const token = await a.mint('u1', { groups: 'dba', org_id: 'north' });
    const openapi = await service.get('/openapi.json', { key: null, headers: bearer(token) });
    expect(openapi.text).toContain('list_loans');
    expect(openapi.text).not.toContain(PINNED);
    const { text } = await rpc(token, 'tools/list');
    expect(text).toContain('list_loans');
    expect(text).not.toContain(PINNED);
  });
});

test(
  'tokens, their digests and what they claim stand in no log, metric and error',
  { tags: ['token:canary'] },
  async () => {
    const [mapped, unmapped, id] = ['mapped-canary-7f3a', 'unmapped-canary-91bd', 'id-canary-55e0'];
    const token = await a.mint('u-canary', { scope: SCOPE, org_id: mapped, email: unmapped, jti: id });
    const outdated = await a.mint('u-canary', { scope: SCOPE, org_id: mapped, email: unmapped, exp: 1 });
    const [header, payload] = token.split('.');
    const tampered = `${header}.${payload}.${'A'.repeat(86)}`;
    const seen: string[] = [];
    for (const presented of [token, outdated, tampered]) {
      for (const capability of ['list_loans', 'hours', 'many_3', 'no_such']) {
        for (const params of [{}, { unknown: 1 }]) {
          const answer = await call(presented, capability, params);
          seen.push(answer.text, JSON.stringify([...answer.headers]));
        }
      }
      seen.push((await rpc(presented, 'tools/call', { name: 'list_loans', arguments: { unknown: 1 } })).text);
    }
    const line = await service.gateway.waitForLine((text) => text.includes('"metrics_listening"'));
    seen.push(await (await fetch(`http://127.0.0.1:${String(at(JSON.parse(line), 'port'))}/metrics`)).text());
    const agentLog = join(service.agentFolder(0), 'svc-agent.log');
    // The gateway writes what is gathered after 100 ms, and so does the agent.
    await expect.poll(() => service.gateway.output()).toContain('"auth_failure":"expired"');
    await expect.poll(() => readFile(agentLog, 'utf8')).toContain('"verified_by":"token"');
    seen.push(service.gateway.output(), service.agents[0]?.output() ?? '', await readFile(agentLog, 'utf8'));
    const text = seen.join('\n');
    expect(text).toContain('u-canary');
    // Names the token in the log without being of use to present it.
    expect(text).toContain(`"token_id":"${id}"`);
    for (const secret of [mapped, unmapped]) expect(text).not.toContain(secret);
    for (const presented of [token, outdated, tampered]) {
      for (const part of presented.split('.').slice(1)) expect(text).not.toContain(part);
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        expect(text).not.toContain(createHash('sha256').update(presented).digest(encoding));
      }
    }
  },
);
