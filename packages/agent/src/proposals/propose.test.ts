import { expect, test } from 'vitest';
import { initText, leftOutOf } from '../cli/init/init-report.ts';
import type { CatalogColumn, CatalogForeignKey, CatalogTable } from '../databases/driver/catalog.ts';
import type { Proposal } from './model.ts';
import { propose } from './propose.ts';

const ID: CatalogColumn = { name: 'id', sql: 'id', type: 'integer', kind: 'integer', nullable: false };

function text(name: string, rest: Partial<CatalogColumn> = {}): CatalogColumn {
  return { name, sql: name, type: 'text', kind: 'text', nullable: true, ...rest };
}

function table(
  name: string,
  columns: readonly CatalogColumn[],
  { key = ['id'], foreignKeys = [] }: { key?: readonly string[]; foreignKeys?: CatalogForeignKey[] } = {},
): CatalogTable {
  return {
    schema: 'public',
    name,
    sql: `public.${name}`,
    kind: 'table',
    rows: 1,
    rowSecurity: false,
    columns,
    keys: [{ columns: key, primary: true }],
    foreignKeys,
    indexes: key.slice(0, 1).map((leading) => ({ leading, partsOf: [] })),
  };
}

function proposalFor(...tables: readonly CatalogTable[]): Proposal {
  return propose(
    { name: 'shop', tables, accounts: new Set() },
    {
      chosen: () => true,
      included: () => false,
      max: 100,
      contains: (column, param) => `${column} like ${param}`,
    },
  );
}

function namesIn({ tables }: Proposal): readonly string[] {
  return tables.flatMap(({ capabilities }) => capabilities.map(({ name }) => name));
}

test(
  'a table of which only the key is left is left out, and the summary says so',
  { tags: ['command:init'] },
  () => {
    const proposal = proposalFor(
      table('login', [ID, text('email'), text('password_hash')]),
      table('tag', [ID]),
    );
    expect(namesIn(proposal)).toEqual(['get_tag', 'list_tag']);
    const leftOut = leftOutOf(proposal);
    expect(leftOut.filter(({ column }) => column === undefined)).toEqual([
      { table: 'public.login', reason: 'only its key is left to give' },
    ]);
    expect(proposal.grants.map((grant) => grant.table.name)).toEqual(['tag']);
    const summary = initText({
      ok: true,
      dry_run: false,
      dir: 'capability',
      files: [],
      tables: 2,
      capabilities: namesIn(proposal),
      left_out: leftOut,
      beyond_max: [],
      account: { name: 'reader', created: false },
    });
    expect(summary).toContain(
      'left out: 1 table or view without columns that can be shown, or with only their key',
    );
    expect(summary).not.toContain('left out: 1 capability');
  },
);

test('a key that relates rows to each other is worth giving', { tags: ['command:init'] }, () => {
  const pair = [text('role_id', { nullable: false }), text('account_id', { nullable: false }), text('email')];
  expect(namesIn(proposalFor(table('account_role', pair, { key: ['role_id', 'account_id'] })))).toContain(
    'list_account_role',
  );
});

test(
  'the name of a parent stays away where it looks personal beside the row',
  { tags: ['command:init'] },
  () => {
    const city = table('city', [ID, text('city')]);
    const toCity = { columns: ['city_id'], schema: 'public', table: 'city', targetColumns: ['id'] };
    const cityId = { ...ID, name: 'city_id', sql: 'city_id' };
    const fieldsOf = (name: string): readonly (readonly string[])[] =>
      proposalFor(city, table(name, [ID, cityId, text('note')], { foreignKeys: [toCity] }))
        .tables.flatMap(({ capabilities }) => capabilities)
        .filter((capability) => capability.name === `get_${name}`)
        .map(({ result }) => result.map((field) => field.name));
    expect(fieldsOf('museum')).toEqual([['id', 'city_id', 'city', 'note']]);
    expect(fieldsOf('address')).toEqual([['id', 'city_id', 'note']]);
  },
);

test('what callers give as text is bounded, and a row by key is one', { tags: ['command:init'] }, () => {
  const code = text('code', { nullable: false });
  const state = text('state', { nullable: false, kind: 'enum', type: 'state', labels: ['on', 'off'] });
  const { tables } = proposalFor(table('part', [code, state, text('note')], { key: ['code', 'state'] }));
  const [get] = tables.flatMap(({ capabilities }) => capabilities);
  expect(get).toMatchObject({
    name: 'get_part',
    maxRows: 1,
    params: [
      { name: 'code', maxLength: 3000 },
      { name: 'state', maxLength: 255 },
    ],
  });
});

test.each([
  [{ securityLabel: 'MASKED WITH FUNCTION anon.fake_city()' }, 'looks personal: it has a security label'],
  [{ securityLabel: 'unclassified' }, undefined],
  [{ comment: 'Personal data, see the register' }, 'looks personal: its comment has "personal"'],
  [{ comment: 'Holds no personal data' }, undefined],
])('labels and comments tell what is personal: %j', { tags: ['command:init'] }, (rest, reason) => {
  const [found] = leftOutOf(proposalFor(table('thing', [ID, text('label'), text('remark', rest)])));
  expect(found?.reason).toBe(reason);
});
