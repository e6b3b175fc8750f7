import { describe, expect, test } from 'vitest';
import { initText, leftOutOf } from '../cli/init/init-report.ts';
import type { CatalogColumn, CatalogForeignKey, CatalogTable } from '../databases/driver/catalog.ts';
import type { Proposal, ProposedCapability } from './model.ts';
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

describe('a list', { tags: ['command:init'] }, () => {
  const column = (
    name: string,
    kind: CatalogColumn['kind'],
    rest: Partial<CatalogColumn> = {},
  ): CatalogColumn => text(name, { kind, type: kind, ...rest });
  const toCustomer = {
    columns: ['customer_id'],
    schema: 'public',
    table: 'customer',
    targetColumns: ['id'],
  };
  const INVOICE = table(
    'invoice',
    [
      ID,
      column('customer_id', 'integer'),
      column('name', 'text'),
      column('notes', 'text'),
      column('status', 'text', { labels: ['open', 'paid'] }),
      column('is_paid', 'boolean'),
      column('total', 'number'),
      column('pages', 'integer'),
      column('issued on', 'date', { sql: '"issued on"' }),
      column('lines', 'array'),
    ],
    { foreignKeys: [toCustomer] },
  );
  const withIndex = (on: CatalogTable, ...names: readonly string[]): CatalogTable => ({
    ...on,
    indexes: [...on.indexes, ...names.map((leading) => ({ leading, partsOf: [] }))],
  });

  function listOf(on: CatalogTable): ProposedCapability | undefined {
    return proposalFor(on)
      .tables.flatMap(({ capabilities }) => capabilities)
      .find(({ name }) => name.startsWith('list_'));
  }

  function sortOf(on: CatalogTable): readonly string[] | undefined {
    return listOf(on)?.sort?.map(({ name, terms }) => `${name}: ${terms}`);
  }

  test('is sorted by the key, then by dates, amounts, the name of a row and other columns, four in all', () => {
    expect(sortOf(INVOICE)).toEqual([
      'id: id',
      'issued_on: "issued on"',
      'issued_on_desc: "issued on" desc',
      'total: total',
      'total_desc: total desc',
      'name: name',
      'pages: pages',
    ]);
    const { columns } = INVOICE;
    const more = [column('due_on', 'date'), column('price', 'integer')];
    expect(sortOf({ ...INVOICE, columns: [...columns, ...more] })).toEqual([
      'id: id',
      'issued_on: "issued on"',
      'issued_on_desc: "issued on" desc',
      'due_on: due_on',
      'due_on_desc: due_on desc',
      'total: total',
      'total_desc: total desc',
      'price: price',
      'price_desc: price desc',
    ]);
  });

  test.each([100_000, undefined])('of %s rows is sorted only by what an index gives', (rows) => {
    const { rows: _rows, ...unknown } = INVOICE;
    const large: CatalogTable = rows === undefined ? unknown : { ...INVOICE, rows };
    expect(listOf(large)).toMatchObject({ description: 'Rows of invoice in pages, by id.', paging: ['id'] });
    expect(sortOf(large)).toBeUndefined();
    expect(sortOf(withIndex(large, 'pages', 'customer_id', 'status', 'notes'))).toEqual([
      'id: id',
      'notes: notes',
      'pages: pages',
    ]);
  });

  test('is not sorted by a type that no cursor keeps', () => {
    const columns = [ID, column('name', 'text', { hasNoCursor: true }), column('of', 'other')];
    expect(sortOf(table('mood', columns))).toBeUndefined();
  });

  test('has filters in the place of the SQL, and none where there are none', () => {
    const list = listOf(withIndex(INVOICE, 'customer_id', 'issued on'));
    expect(list?.sql.split('\n').slice(-2)).toEqual(['from public.invoice t', 'where {filters}']);
    expect(list?.params.map(({ name, filter }) => [name, filter])).toEqual([
      ['customer_id', 't.customer_id = :customer_id'],
      ['issued_on_from', 't."issued on" >= :issued_on_from'],
      ['issued_on_before', 't."issued on" < :issued_on_before'],
    ]);
    expect(listOf(INVOICE)?.sql).toMatch(/from public\.invoice t$/);
    expect(listOf(INVOICE)?.params).toEqual([]);
  });

  test('leaves the names of what `sort` and `paging` make to them', () => {
    const columns = [ID, column('sort', 'integer'), column('cursor', 'integer')];
    const list = listOf(withIndex(table('page', columns), 'sort', 'cursor'));
    expect(list?.params.map(({ name }) => name)).toEqual(['sort_2', 'cursor_2']);
  });

  const DAY = column('day', 'date', { nullable: false });
  test.each([
    ['may leave as null', DAY],
    ['has no cursor', column('word', 'text', { nullable: false, hasNoCursor: true })],
  ])('whose key %s has parameters for the last row', (_what, key) => {
    const kind = { ...ID, name: 'kind', sql: 'kind' };
    const list = listOf(table('price', [kind, key], { key: ['kind', key.name] }));
    expect(list).not.toHaveProperty('paging');
    expect(list?.sql).toMatch(
      new RegExp(`where \\{filters\\}\\norder by t.kind, t.${key.name}\\nlimit :limit$`),
    );
    expect(list?.params.map(({ name, filter }) => [name, filter])).toEqual([
      ['after_kind', `(t.kind, t.${key.name}) > (:after_kind, :after_${key.name})`],
      [`after_${key.name}`, undefined],
      ['kind', 't.kind = :kind'],
      ['limit', undefined],
    ]);
  });

  test('pages by another key if a cursor keeps only that', () => {
    const daily = table('price', [DAY, ID], { key: ['day'] });
    const list = listOf({ ...daily, keys: [...daily.keys, { columns: ['id'], primary: false }] });
    expect(list?.paging).toEqual(['id']);
  });
});
