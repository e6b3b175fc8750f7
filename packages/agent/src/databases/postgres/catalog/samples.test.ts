import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manyTables, SAMPLES } from '../../../../../../tests/samples/samples.ts';
import { loadConfig } from '../../../config/load.ts';
import type { Finding } from '../../../lint/finding.ts';
import { lintBy } from '../../../lint/lint-by.ts';
import { composeFiles } from '../../../proposals/compose-files.ts';
import type { Proposal } from '../../../proposals/model.ts';
import { propose } from '../../../proposals/propose.ts';
import { callOf, configOf, openPostgres, textOfRows, type TestedDatabase } from '../capability.fixture.ts';
import { walk } from '../../conformance/clauses/lists.testing.ts';
import { createPool } from '../connect.ts';
import { pagingWarnings } from '../verify/clauses/paging-warnings.ts';
import type { Capability } from '../../../capabilities/model.ts';
import { verifier } from '../verifier.ts';
import { catalogSource } from '../catalog-source.ts';
import type { Verification } from '../../driver/driver.ts';
import { endingsOf } from '../execute/both-ways.fixture.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';

const password = 'reader';
const agentKey = { seed: Buffer.alloc(32, 1).toString('base64url'), publicKey: 'public' };

interface Proposed {
  readonly proposal: Proposal;
  readonly capabilityFile: string;
  readonly statements: readonly string[];
  readonly capabilities: readonly Capability[];
  readonly warnings: readonly string[];
  /** Of lint, offline, that are worse than advice, and of filters that could be written as such. */
  readonly findings: readonly Finding[];
}

async function proposeFor(database: TestDatabase, account: string, max = 1000): Promise<Proposed> {
  const found = catalogSource.target(database.url, {});
  if (!found.ok) throw new Error(found.problem);
  const catalog = await catalogSource.read(found.target, 30_000);
  const proposal = propose(catalog, {
    chosen: () => true,
    included: () => false,
    max,
    contains: catalogSource.contains,
  });
  const { files, statements } = composeFiles({
    source: catalogSource,
    target: found.target,
    catalog,
    proposal,
    account: { name: account, password },
    gatewayUrl: 'ws://127.0.0.1:8080/ws/agent',
    agentKey,
    max,
  });
  const texts = new Map(files.map(({ path, text }) => [`/${path}`, Buffer.from(text)]));
  const loaded = loadConfig({
    path: '/capability.yaml',
    env: {},
    readFile: (path) => texts.get(path) ?? Buffer.from(''),
  });
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults, undefined, 2));
  const { capabilities } = loaded.config;
  const warnings = await verifier.findWarnings(capabilities);
  return {
    proposal,
    statements,
    capabilities,
    capabilityFile: texts.get('/capability.yaml')?.toString() ?? '',
    warnings: warnings.map(({ message }) => message),
    findings: (
      await lintBy(
        {
          findUnordered: (all) => verifier.findUnordered(all),
          findClauseAdvice: async (all) => verifier.findClauseAdvice?.(all) ?? [],
        },
        capabilities,
        warnings,
      )
    ).filter(({ level, rule }) => level !== 'advice' || rule === 'optional-filter'),
  };
}

describe.each(SAMPLES)('$name', ({ sql }) => {
  let database: TestDatabase;
  let proposed: Proposed;
  let reader: TestedDatabase;
  let verification: Verification<PreparedQuery>;
  let account: string;

  beforeAll(async () => {
    database = await testDatabase({ sql: [sql] });
    account = `reader_${database.name}`;
    proposed = await proposeFor(database, account);
    const found = catalogSource.target(database.url, {});
    if (!found.ok) throw new Error(found.problem);
    const made = await catalogSource.accounts?.create(found.target, proposed.statements, password);
    if (made !== 'created') throw new Error(`the account was not made: ${made}`);
    reader = openPostgres(configOf({ ...database, user: account, password }));
    verification = await reader.verify(proposed.capabilities.map(inShortPages));
  });
  afterAll(async () => {
    await reader.close();
    await database.execute(`drop owned by ${account}; drop role ${account}`);
  });

  function preparedOf({ name }: Capability): PreparedQuery {
    const found = verification.prepared.find(({ capability }) => capability === name);
    if (found === undefined) throw new Error(`${name} is not verified`);
    return found;
  }

  async function rowsOf(
    capability: Capability,
    values: Readonly<Record<string, unknown>>,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const verified = preparedOf(capability);
    const { own, shared } = await endingsOf(reader, verified, values);
    expect([capability.name, ...new Set([...own, ...shared])]).toEqual([capability.name, own[0]]);
    return JSON.parse(textOfRows(await reader.prepare(verified).run(callOf(values))));
  }

  /** All rows of a list; if it has pages, the same in each of its orders. */
  async function allRowsOf(list: Capability): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { clauses } = list;
    if (clauses?.hasPages !== true) return rowsOf(list, { limit: 100 });
    await rowsOf(list, { sort: clauses.orders[0]?.name });
    const query = reader.prepare(preparedOf(list));
    const keyOfRow = (row: Readonly<Record<string, unknown>>): string =>
      JSON.stringify(clauses.unique.map((field) => row[field]));
    const [first = [], ...others] = await Promise.all(
      clauses.orders.map(({ name }) => walk(query, list, { sort: name })),
    );
    for (const rows of others) {
      expect(rows.map(keyOfRow).toSorted()).toEqual(first.map(keyOfRow).toSorted());
    }
    return first;
  }

  test('the account of the proposal may read all that is proposed, and every capability is verified', async () => {
    const { prepared, faults } = verification;
    expect(faults).toEqual([]);
    expect(proposed.warnings).toEqual([]);
    const pool = createPool(configOf({ ...database, user: account, password }));
    expect(await pagingWarnings(pool, proposed.capabilities)).toEqual([]);
    await pool.close();
    // Else nothing below would show that shared transactions give the same rows.
    expect(prepared.filter(({ transaction }) => transaction?.form === 'shared').length).toBeGreaterThan(5);
  });

  test('lint has no warning for what is proposed', { tags: ['command:init', 'command:lint'] }, async () => {
    const { findings } = await proposeFor(database, account, 40);
    expect(findings).toEqual([]);
  });

  test('nothing that a terminal obeys, or that turns text round, is in what people read of it', () => {
    const shown = [proposed.capabilityFile, ...proposed.statements].join('\n');
    expect(shown).not.toMatch(/[^\P{Cc}\n]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
  });

  test('the account may not read what was left out', async () => {
    const hidden = proposed.proposal.tables.flatMap(({ table, hiddenColumns }) =>
      hiddenColumns.map(({ name }) => ({ table: table.sql, column: `"${name.replaceAll('"', '""')}"` })),
    );
    for (const { table, column } of hidden) {
      const [row] = await database.query<{ allowed: boolean }>(
        'select has_column_privilege($1, $2::regclass, $3, $$select$$) as allowed',
        [account, table, column.slice(1, -1).replaceAll('""', '"')],
      );
      expect({ ...row, table, column }).toEqual({ allowed: false, table, column });
    }
  });

  test('lists answer page after page, and each of their rows is found by its key', async () => {
    const byName = new Map(proposed.capabilities.map((capability) => [capability.name, capability]));
    for (const list of proposed.capabilities.filter(({ name }) => name.startsWith('list_'))) {
      const all = await allRowsOf(list);
      const [counted] = await database.query<{ rows: number }>(
        `select count(*)::int as rows from ${tableOf(proposed.proposal, list.name)}`,
      );
      // Row-level security keeps the reader from its rows.
      const expected = list.name === 'list_tenant_note' ? 0 : counted?.rows;
      expect([list.name, all.length]).toEqual([list.name, expected]);
      const get = byName.get(list.name.replace('list_', 'get_'));
      const [first] = all;
      if (get === undefined || first === undefined) continue;
      const key = keyOf(proposed.proposal, get.name);
      const values = Object.fromEntries(get.params.map(({ name }, at) => [name, first[key[at] ?? '']]));
      expect(await rowsOf(get, values)).toEqual([first]);
      if (list.clauses?.hasPages === true) continue;
      const after = list.params.filter(({ name }) => name.startsWith('after'));
      const last = Object.fromEntries(after.map(({ name }, at) => [name, first[key[at] ?? '']]));
      expect(await rowsOf(list, { ...last, limit: 100 })).toEqual(all.slice(1));
    }
  });

  test('searches and counts answer; what SQL would take for a pattern is text', async () => {
    for (const capability of proposed.capabilities) {
      if (capability.name.startsWith('search_')) {
        expect((await rowsOf(capability, { query: 'a', limit: 1 })).length).toBeLessThanOrEqual(1);
      }
      if (capability.name.startsWith('count_')) expect(await rowsOf(capability, {})).toBeInstanceOf(Array);
      if (capability.name === 'search_expressions') {
        for (const query of ['%', '50%_', '\\']) {
          expect(await rowsOf(capability, { query })).toMatchObject([{ id: 1 }]);
        }
      }
    }
  });
});

function inShortPages(capability: Capability): Capability {
  const { clauses, limits } = capability;
  return clauses?.hasPages === true ? { ...capability, limits: { ...limits, maxRows: 2 } } : capability;
}

function tableOf({ tables }: Proposal, capability: string): string {
  return (
    tables.find(({ capabilities }) => capabilities.some(({ name }) => name === capability))?.table.sql ?? ''
  );
}

function keyOf({ tables }: Proposal, capability: string): readonly string[] {
  const found = tables.find(({ capabilities }) => capabilities.some(({ name }) => name === capability));
  return found?.table.keys[0]?.columns ?? [];
}

test('of 300 tables the most used ones are proposed, within ten seconds', async () => {
  const database = await testDatabase();
  await database.execute(manyTables(300));
  const started = performance.now();
  const { capabilities, capabilityFile } = await proposeFor(database, 'nobody', 40);
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(capabilities.length).toBe(40);
  expect(capabilityFile).toContain('# More than --max 40 capabilities: get_t_');
});

test(
  'what a security label classifies is left out: columns, and whole tables',
  { tags: ['command:init'] },
  async () => {
    const database = await testDatabase({
      sql: [
        `create table film (id integer primary key, title text, plot text);
       create table plan (id integer primary key, title text);
       create table open (id integer primary key, title text);
       -- No provider of labels is loaded, so SECURITY LABEL itself would be refused.
       set allow_system_table_mods = on;
       insert into pg_seclabel (objoid, classoid, objsubid, provider, label) values
         ('film'::regclass, 'pg_class'::regclass, 3, 'anon', 'MASKED WITH VALUE NULL'),
         ('plan'::regclass, 'pg_class'::regclass, 0, 'dummy', 'secret'),
         ('open'::regclass, 'pg_class'::regclass, 0, 'dummy', 'unclassified')`,
      ],
    });
    const { proposal } = await proposeFor(database, 'nobody');
    const left = proposal.tables.map(({ table, hiddenColumns }) => [
      table.name,
      hiddenColumns.map(({ name }) => name),
    ]);
    expect(left).toEqual([
      ['film', ['plot']],
      ['open', []],
      ['plan', ['id', 'title']],
    ]);
  },
);
