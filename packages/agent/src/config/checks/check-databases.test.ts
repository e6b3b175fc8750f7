import { describe, expect, test } from 'vitest';
import { faultLines, fileText, load } from '../load.fixture.ts';

const SECTION = '{ host: db, name: n, user: u, password: pw }';
const RESULT = 'result: { one: { type: integer } }';

/** A file with these databases, defaults, and of its one capability this `database`. */
function file(
  databases: Readonly<Record<string, string>>,
  { database = '', defaults = '' }: { readonly database?: string; readonly defaults?: string } = {},
): string {
  const entries = Object.entries(databases).map(([name, section]) => `${JSON.stringify(name)}: ${section}`);
  return fileText({
    database: '',
    databases: `databases: { ${entries.join(', ')} }`,
    defaults: defaults === '' ? '' : `defaults: { database: ${defaults} }`,
    capabilities: `capabilities: { one: { ${database === '' ? '' : `database: ${database}, `}sql: SELECT 1 AS one, ${RESULT} } }`,
  });
}

describe('a capability asks', () => {
  test.each([
    ['the only one', file({ shop: SECTION })],
    ['the one of defaults', file({ library: SECTION, shop: SECTION }, { defaults: 'shop' })],
    [
      'its own, whatever defaults say',
      file({ library: SECTION, shop: SECTION }, { defaults: 'library', database: 'shop' }),
    ],
  ])('%s', (_title, text) => {
    const loaded = load(text);
    if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
    expect(loaded.config.capabilities.map(({ database }) => database)).toEqual(['shop']);
  });

  test('no name where the file has one database without', () => {
    const loaded = load(fileText());
    if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
    expect(loaded.config.capabilities.map((capability) => 'database' in capability)).toEqual([false]);
  });
});

test('each has its own secrets and settings', () => {
  const loaded = load(
    file(
      {
        library: '{ host: a, name: n, user: u, password_file: /pw }',
        shop: '{ host: b, port: 1, name: m, user: v, password: second, max_connections: 3 }',
      },
      { defaults: 'shop' },
    ),
    {},
    { '/pw': 'first\n' },
  );
  if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
  expect(loaded.config.databases).toMatchObject({
    library: { host: 'a', port: 5432, user: 'u', password: 'first', maxConnections: 10 },
    shop: { host: 'b', port: 1, user: 'v', password: 'second', maxConnections: 3 },
  });
});

test.each([
  [
    'both keys',
    fileText({ databases: `databases: { shop: ${SECTION} }` }),
    ['databases: `database` and `databases` are both given: remove one of them'],
  ],
  ['none', fileText({ database: '' }), ['database: is required']],
  ['an empty mapping', file({}), ['databases: must have at least 1 entry']],
  [
    'no mapping',
    fileText({
      database: '',
      databases: 'databases: [a]',
      capabilities: `capabilities: { one: { database: shop, sql: SELECT 1 AS one, ${RESULT} } }`,
    }),
    ['databases: must be a mapping'],
  ],
  [
    'none chosen of several',
    file({ library: SECTION, shop: SECTION }),
    [
      'capabilities.one.database: is required, because there are several: library, shop; or give `defaults.database`',
    ],
  ],
  [
    'a name that is none of them',
    file({ library: SECTION, shop: SECTION }, { defaults: 'library', database: 'shp' }),
    ['capabilities.one.database: is none of `databases`: did you mean shop?'],
  ],
  [
    'defaults that name none of them',
    file({ library: SECTION, shop: SECTION }, { defaults: 'other' }),
    ['defaults.database: is none of `databases`'],
  ],
  [
    'a choice where there is none',
    fileText({
      capabilities: `capabilities: { one: { database: shop, sql: SELECT 1 AS one, ${RESULT} } }`,
    }),
    [
      'capabilities.one.database: names a database, but the file has no `databases`: remove it, or name them there',
    ],
  ],
  [
    'a name in capitals',
    file({ Shop: SECTION }),
    [
      'databases.Shop: this is no name of a database: use 1 to 32 lower-case letters, digits and `_`, beginning with a letter',
    ],
  ],
  [
    'faults of a section',
    file({ shop: '{ host: db, name: n, user: u, prot: 1, driver: oracle }' }),
    [
      'databases.shop.password: is required; or give `password_file`',
      'databases.shop.prot: unknown key, did you mean `port`?',
      'databases.shop.driver: must be one of postgres, mariadb, mysql, sqlite, duckdb',
    ],
  ],
  [
    'a key that only databases of other drivers have',
    file({ notes: '{ driver: mysql, host: db, name: n, user: u, password: pw, file: notes.db }' }),
    [
      'databases.notes.file: unknown key; accepted: driver, host, port, name, user, password, password_file, sslmode, ssl_root_cert, max_connections, caller_variables, require_readonly_account; `file` is only for sqlite and duckdb: remove it, or set `driver: sqlite` or `driver: duckdb`',
    ],
  ],
  [
    'a key that only databases of one other driver have',
    file({ notes: '{ driver: duckdb, file: notes.db, transactions: own }' }),
    [
      'databases.notes.transactions: unknown key; accepted: driver, file, read_files, immutable, memory, threads, max_connections, caller_variables, require_readonly_account; `transactions` is only for postgres: remove it, or set `driver: postgres`',
    ],
  ],
  [
    'another way to run transactions',
    file({ shop: '{ host: db, name: n, user: u, password: pw, transactions: never }' }),
    ['databases.shop.transactions: must be one of shared, own'],
  ],
  [
    'a driver that is nearly named, whose keys are meant',
    file({ notes: '{ driver: sqlite3, file: notes.db }' }),
    [
      'databases.notes.driver: must be one of postgres, mariadb, mysql, sqlite, duckdb; did you mean `sqlite`?',
    ],
  ],
])('%s', (_title, text, faults) => {
  expect(faultLines(load(text)).map((line) => line.replace(/^\d\S* /, ''))).toEqual(faults);
});

test('each needs a connection for each worker', () => {
  const few = '{ host: db, name: n, user: u, password: pw, max_connections: 1 }';
  const text = `${file({ library: SECTION, shop: few }, { defaults: 'library' })}\nruntime: { workers: 2 }`;
  expect(faultLines(load(text)).map((line) => line.replace(/^\S+ /, ''))).toEqual([
    'runtime.workers: must be <= `databases.shop.max_connections` (1), because each worker needs a connection',
  ]);
});
