import { isDeepStrictEqual } from 'node:util';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { CallerSettings, QueryCall } from '../../driver/driver.ts';
import { callOf, capabilityOf, configOf, openPostgres, queryOf, textOfRows } from '../capability.fixture.ts';
import type { TestedDatabase } from '../capability.fixture.ts';
import {
  isInstalled,
  keepsPreparedStatements,
  pgBouncer,
  PLAIN_TRANSACTION_MODE,
  TRANSACTION_MODE,
} from '../pgbouncer.fixture.ts';

const TENANTS = ['6f1c2a5e-8a53-4a3e-9f4e-0d6b8a1f2c33', '11111111-2222-4333-8444-555555555555'] as const;
const ROWS_OF_EACH = 3;

/** The policy of docs/guides/tenants.md. */
const SCHEMA = `
  create table orders (id int primary key, tenant uuid not null);
  insert into orders select id, (array['${TENANTS.join("','")}']::uuid[])[id % 2 + 1]
    from generate_series(1, ${2 * ROWS_OF_EACH}) id;
  alter table orders enable row level security;
  create policy by_tenant on orders using (tenant =
    (select (nullif(current_setting('svc.claims', true), '')::jsonb ->> 'org_id')::uuid));
`;

const SEEN =
  "select concat_ws('|', " +
  ['api_key_name', 'subject', 'issuer', 'client_id', 'claims']
    .map((name) => `coalesce(current_setting('svc.${name}', true), 'null')`)
    .join(', ') +
  ') as a';

let server: TestDatabase;
let role: string;
beforeAll(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  role = `${server.name}_reader`;
  await server.execute(`create role ${role} login password 'reader'; grant select on orders to ${role}`);
});
afterAll(() => server.execute(`drop owned by ${role}; drop role ${role}`));

function open(maxConnections: number, port: number = server.port): TestedDatabase {
  const account = { ...server, user: role, password: 'reader' };
  const config = { maxConnections, sslmode: 'disable' } as const;
  const calls = openPostgres(configOf({ ...account, port }, config));
  // Over a pooler that loses prepared statements nothing can be verified.
  const verifier = openPostgres(configOf(account, { ...config, maxConnections: 1 }));
  onTestFinished(async () => {
    await calls.close();
    await verifier.close();
  });
  return { ...calls, verify: (capabilities) => verifier.verify(capabilities) };
}

function callerOf(claims: object, changes: Partial<CallerSettings> = {}): CallerSettings {
  return { subject: '', issuer: '', clientId: '', claimsJson: JSON.stringify(claims), ...changes };
}

async function lookOver(database: TestedDatabase): Promise<(changes: Partial<QueryCall>) => Promise<string>> {
  const query = await queryOf(database, capabilityOf(SEEN, { name: 'look', result: { a: 'string' } }));
  return async (changes) => {
    const rows: readonly { readonly a: string }[] = JSON.parse(
      textOfRows(await query.run(callOf({}, changes))),
    );
    return rows[0]?.a ?? '';
  };
}

/** What calls of two tenants, up to a thousand at a time, see that is not their own rows or not all of them. */
async function wrongRows(database: TestedDatabase, calls: number): Promise<readonly unknown[]> {
  const wrong: unknown[] = [];
  const list = await queryOf(
    database,
    capabilityOf('select id as a, tenant::text as t from orders', {
      name: 'list_orders',
      result: { a: 'integer', t: 'string' },
    }),
  );
  // The first few show that the query is short; after that calls share connections and batches.
  for (let left = calls, size = 10; left > 0; left -= size, size = Math.min(1000, left)) {
    await Promise.all(
      Array.from({ length: size }, async (_, index) => {
        const kind = index % 5;
        const tenant = TENANTS[index % 2];
        const nobody = [undefined, callerOf({}), callerOf({ org: tenant })][index % 3];
        const caller = kind === 4 ? nobody : callerOf({ org_id: tenant });
        const result = await list.run(callOf({}, { caller, timeoutMs: 30_000 }));
        const seen: readonly { readonly t: string }[] = JSON.parse(textOfRows(result));
        const own = Array.from({ length: ROWS_OF_EACH }, () => tenant);
        const expected = kind === 4 ? [] : own;
        if (
          !isDeepStrictEqual(
            seen.map(({ t }) => t),
            expected,
          )
        )
          wrong.push({ tenant, kind, seen });
      }),
    );
  }
  return wrong;
}

const tags = ['identity:settings'];

describe('who calls', { tags }, () => {
  test('is what SQL sees, and nothing where the agent does not ask', async () => {
    const look = await lookOver(open(1));
    const claims = { org_id: 'north', n: 5, roles: ['a', 'b'] };
    const who = { subject: 'anna', issuer: 'https://id.example', clientId: 'app' };
    expect(await look({ apiKeyName: 'reports' })).toBe('reports|null|null|null|null');
    expect(await look({ apiKeyName: '', caller: callerOf(claims, who) })).toBe(
      `|anna|https://id.example|app|${JSON.stringify(claims)}`,
    );
    expect(await look({ apiKeyName: 'reports', caller: callerOf({}) })).toBe('reports||||{}');
    // What remains of a setting that has ended is an empty text.
    expect(await look({ apiKeyName: 'reports' })).toBe('reports||||');
  });

  test('may hold any text, and stays that text', async () => {
    const look = await lookOver(open(1));
    const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((given) => !/[\0|]/.test(given));
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        fc.dictionary(text, text, { maxKeys: 3 }),
        async (subject, clientId, claims) => {
          const caller = callerOf(claims, { subject, clientId, issuer: `i${subject}'"\\` });
          const seen = await look({ apiKeyName: '', caller });
          expect(seen).toBe(`|${subject}|i${subject}'"\\|${clientId}|${JSON.stringify(claims)}`);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('that the encoding of the database cannot hold is refused, and costs no connection', async () => {
    const name = `${server.name}_latin1`;
    const provider = (await server.version()) >= 150_000 ? 'locale_provider libc' : '';
    await server.execute(
      `create database ${name} template template0 encoding 'LATIN1' ${provider} lc_collate 'C' lc_ctype 'C'`,
    );
    const database = openPostgres(configOf({ ...server, name }, { maxConnections: 1 }));
    onTestFinished(async () => {
      await database.close();
      await server.execute(`drop database ${name}`);
    });
    const sql = 'select pg_backend_pid() as a';
    const query = await queryOf(database, capabilityOf(sql));
    const before = textOfRows(await query.run(callOf({}, { caller: callerOf({}) })));
    for (const caller of [callerOf({}, { subject: 'ключ' }), callerOf({ org: 'ключ' })]) {
      const refused = query.run(callOf({}, { caller }));
      await expect(refused).rejects.toMatchObject({
        kind: 'invalid_principal',
        message: expect.not.stringContaining('ключ'),
      });
    }
    expect(textOfRows(await query.run(callOf({}, { caller: callerOf({}) })))).toBe(before);
  });
});

describe('a row policy by a claim', { tags: ['identity:tenants'] }, () => {
  test('keeps tenants apart over 10,000 calls that share connections and batches', async () => {
    expect(await wrongRows(open(4), 10_000)).toEqual([]);
  });

  test('keeps them apart on one connection', async () => {
    expect(await wrongRows(open(1), 1000)).toEqual([]);
  });

  for (const [mode, settings, runs] of [
    ['transaction mode', TRANSACTION_MODE, keepsPreparedStatements],
    ['transaction mode that loses prepared statements', PLAIN_TRANSACTION_MODE, isInstalled],
  ] as const) {
    test.skipIf(!runs)(`keeps them apart behind PgBouncer in ${mode}`, async () => {
      // It goes wrong, if at all, while its server connections do not know the statements yet.
      for (let start = 0; start < 8; start++) {
        const pooler = await pgBouncer(settings);
        onTestFinished(() => pooler.stop());
        expect(await wrongRows(open(4, pooler.port), 1200)).toEqual([]);
      }
    });
  }
});

describe('a value that is taken from who calls', { tags: ['capability:params.from'] }, () => {
  test.each([
    ['is no value of the type that the SQL takes', 'select :p::inet::text as a', 'x'],
    ['is refused by a clause of the query', 'select a from (values (1)) v (a) limit length(:p) - 2', 'x'],
  ])('and %s is no fault of the parameters', async (_title, sql, value) => {
    const database = open(1);
    const capability = capabilityOf(sql, {
      params: { p: { type: 'string' } },
      result: { a: sql.includes('inet') ? 'string' : 'integer' },
    });
    const pinned = {
      ...capability,
      params: capability.params.map((param) => ({ ...param, from: 'principal.claims.p', required: true })),
    };
    const kindOf = async (each: typeof capability): Promise<unknown> => {
      const query = await queryOf(database, each);
      const error: unknown = await query
        .run(callOf({ p: value }, { caller: callerOf({}) }))
        .catch((why: unknown) => why);
      expect(String(Object(error).advice)).not.toContain('p:');
      return Object(error).kind;
    };
    expect(await kindOf(pinned)).toBe('invalid_principal');
  });

  test('leaves the fault with a parameter that was sent', async () => {
    const capability = capabilityOf('select a from (values (1)) v (a) limit :n - length(:p)', {
      params: { n: { type: 'integer' }, p: { type: 'string' } },
    });
    const params = capability.params.map((param) =>
      param.name === 'p' ? { ...param, from: 'principal.subject' } : param,
    );
    const query = await queryOf(open(1), { ...capability, params });
    const refused = query.run(callOf({ n: -1, p: 'x' }, { caller: callerOf({}) }));
    await expect(refused).rejects.toMatchObject({
      kind: 'invalid_params',
      advice: 'n: a row count must not be negative',
    });
  });
});
