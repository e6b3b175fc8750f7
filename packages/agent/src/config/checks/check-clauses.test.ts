import { describe, expect, test } from 'vitest';
import { faultLines, fileText, load } from '../load.fixture.ts';

interface Parts {
  readonly sql?: string;
  readonly params?: string;
  readonly rest?: string;
  readonly database?: string;
}

function faultsOf({
  sql = 'select id from t',
  params = '{}',
  rest = '',
  database,
}: Parts): readonly string[] {
  const text = fileText({
    ...(database === undefined ? {} : { database: `database: ${database}` }),
    capabilities: `capabilities:
  list:
    sql: '${sql}'
    params: ${params}
    result:
      id: { type: integer, nullable: false }
      "Any Name": { type: string }
      tags: { type: array }
      at: { type: datetime, nullable: false }
${rest}`,
  });
  return faultLines(load(text)).map((line) => line.replace(/^\d+:\d+ /, ''));
}

const PLACE = 'select id from t where {filters}';

describe('filters', () => {
  test.each<[parts: Parts, faults: readonly string[]]>([
    [{ sql: PLACE, params: '{ p: { type: integer, filter: "id = :p" } }' }, []],
    [
      { sql: PLACE, params: '{ p: { type: integer, filter: "id = :pp" } }' },
      ['capabilities.list.params.p.filter: must be one condition that uses :p'],
    ],
    [
      { params: '{ p: { type: integer, filter: "id = :p" } }' },
      ['capabilities.list.params.p.filter: has no place in `sql`: write `where {filters}` there'],
    ],
    [
      { sql: PLACE, params: '{ p: { type: integer } }' },
      ['capabilities.list.sql: has {filters}, but no parameter has a `filter`: add one, or remove it'],
    ],
    [
      { sql: `${PLACE} and {filters}`, params: '{ p: { type: integer, filter: "id = :p" } }' },
      ['capabilities.list.sql: has {filters} 2 times: it must stand once'],
    ],
    [
      { sql: PLACE, params: '{ p: { type: integer, filter: "" } }' },
      ['capabilities.list.params.p.filter: must not be empty'],
    ],
  ])('%o', (parts, faults) => {
    expect(faultsOf(parts)).toEqual(faults);
  });

  test('at most 16 may fall away; others stand', () => {
    const params = (required: number): string =>
      `{ ${Array.from({ length: 18 }, (_, at) => `p${at}: { type: integer, required: ${at < required}, filter: "id = :p${at}" }`).join(', ')} }`;
    expect(faultsOf({ sql: PLACE, params: params(2) })).toEqual([]);
    expect(faultsOf({ sql: PLACE, params: params(1) })).toEqual([
      'capabilities.list.params.p17.filter: is one of 17 that may fall away: at most 16 may, so make others required',
    ]);
  });

  test('a default stands, also if it is `false`', () => {
    const params = (rest: string): string =>
      `{ ${Array.from({ length: 17 }, (_, at) => `p${at}: { type: boolean, filter: "(id > ${at}) = :p${at}"${at === 0 ? rest : ''} }`).join(', ')} }`;
    expect(faultsOf({ sql: PLACE, params: params(', default: false') })).toEqual([]);
    expect(faultsOf({ sql: PLACE, params: params('') })).toHaveLength(1);
  });
});

describe('sort and paging', () => {
  const at = 'capabilities.list';
  test.each<[rest: string, faults: readonly string[]]>([
    ['sort: { newest: at desc, by_name: "\\"Any Name\\" desc nulls last, id" }', []],
    ['sort: { a: AT DESC NULLS FIRST }', [`${at}.sort.a: names \`AT\`, which is no field of \`result\``]],
    [
      'sort: { a: att }',
      [`${at}.sort.a: names \`att\`, which is no field of \`result\`, did you mean \`at\`?`],
    ],
    ['sort: { a: "at, at desc" }', [`${at}.sort.a: names \`at\` twice`]],
    ['sort: { a: tags }', [`${at}.sort.a: names \`tags\`, whose type has no order`]],
    [
      'sort: { a: lower(id) }',
      [expect.stringMatching(/^capabilities\.list\.sort\.a: must be fields of `result`/)],
    ],
    ['sort: { a: "at,,id" }', [expect.stringMatching(/must be fields of `result`/)]],
    ['sort: { a: id + 1 }', [expect.stringMatching(/must be fields of `result`/)]],
    ['sort: { a: "id, at, id, at, id" }', [`${at}.sort.a: must have at most 4 fields`]],
    ['sort: { A: id }', [expect.stringContaining('this is no name of an order')]],
    ['sort: {}', [`${at}.sort: must have at least 1 entry`]],
    ['paging: id', []],
    ['paging: [id, at]', []],
    [
      'paging: Any Name',
      [`${at}.paging: names \`Any Name\`, which may be null: set its \`nullable: false\` in \`result\``],
    ],
    ['paging: [id, id]', [`${at}.paging: must not list anything twice`]],
    ['paging: [id, at, b, c, d]', [`${at}.paging: must have at most 4 entries`]],
    [
      `sort: { ${Array.from({ length: 17 }, (_, index) => `s${index}: id`).join(', ')} }`,
      [`${at}.sort: must have at most 16 entries`],
    ],
    ['paging: idd', [`${at}.paging: names \`idd\`, which is no field of \`result\`, did you mean \`id\`?`]],
    ['paging: 5', [expect.stringMatching(/^capabilities\.list\.paging: /)]],
    [
      'sort: { a: id }\n    paging: { after: id }',
      [
        `${at}.paging: must be a field of \`result\`, or a list of fields, beside \`sort\`: a mapping follows one order only`,
        `${at}.paging.after: is no parameter of the capability`,
      ],
    ],
  ])('%s', (rest, faults) => {
    expect(faultsOf({ rest: `    ${rest}` }).toSorted()).toEqual([...faults].toSorted());
  });

  test('a declared parameter of the name that a key makes is a fault', () => {
    const sql = 'select :sort as id, :cursor as b';
    const params = '{ sort: { type: integer }, cursor: { type: integer } }';
    expect(faultsOf({ sql, params })).toEqual([]);
    expect(faultsOf({ sql, params, rest: '    sort: { a: id }\n    paging: id' })).toEqual([
      `${at}.params.sort: is the parameter that \`sort\` makes: rename it`,
      `${at}.params.cursor: is the parameter that \`paging\` makes: rename it`,
    ]);
  });

  test('callers get `sort` with its names and the first as default, and `cursor`; fields that no two rows share end each order', () => {
    const loaded = load(
      fileText({
        capabilities: `capabilities:
  list:
    sql: select id, at from t
    result: { id: { type: integer, nullable: false }, at: { type: date } }
    sort: { newest: at desc, first: id }
    paging: id`,
      }),
    );
    expect(loaded).toMatchObject({
      config: {
        capabilities: [
          {
            params: [
              {
                name: 'sort',
                required: false,
                schema: { type: 'string', enum: ['newest', 'first'], default: 'newest' },
              },
              { name: 'cursor', required: false, schema: { type: 'string', maxLength: 8192 } },
            ],
            clauses: {
              hasPages: true,
              orders: [
                {
                  name: 'newest',
                  terms: [
                    { field: 'at', isDescending: true },
                    { field: 'id', isDescending: true },
                  ],
                },
                { name: 'first', terms: [{ field: 'id', isDescending: false }] },
              ],
            },
          },
        ],
      },
    });
    expect(loaded).not.toHaveProperty('config.capabilities.0.paging');
  });
});
