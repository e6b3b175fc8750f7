import { expect, test } from 'vitest';
import { compareContracts } from './compare.ts';
import type { Contract } from './contract.ts';
import { contractOf, SQL } from './contracts.fixture.ts';
import { readOpenApi } from './read/read-openapi.ts';

type Json = Readonly<Record<string, unknown>>;

const PARAM = { type: 'integer' };
const FIELD = { type: 'integer' };

function fileOf(capability: Json, sections: Json = {}): Contract {
  const c = { sql: SQL, params: { p: PARAM }, result: { one: FIELD }, ...capability };
  return contractOf({ capabilities: { c }, ...sections });
}
const withParam = (p: Json): Contract => fileOf({ params: { p } });
const withField = (one: Json): Contract => fileOf({ result: { one } });
const withPolicy = (policy: Json): Contract => fileOf({ policy });

/** `severity path`, the path below the capability. */
function told(old: Contract, now: Contract): readonly string[] {
  return compareContracts(old, now).map(({ severity, path }) =>
    `${severity} ${path.replace(/^capabilities\.c\.?/, '')}`.trim(),
  );
}

/** Of one parameter: what the old rules and the new ones make of callers. */
const PARAM_CHANGES: readonly (readonly [old: Json, now: Json, expected: readonly string[]])[] = [
  [{ type: 'integer' }, { type: 'string' }, ['breaking params.p.type']],
  [{ type: 'integer' }, { type: 'number' }, ['breaking params.p.type']],
  [{ type: 'string' }, { type: 'date' }, ['breaking params.p.type']],
  [{ type: 'string' }, { type: 'uuid' }, ['breaking params.p.type']],
  [{ type: 'date' }, { type: 'string', format: 'date' }, []],
  [PARAM, { ...PARAM, required: true }, ['breaking params.p.required']],
  [{ ...PARAM, required: true }, PARAM, ['compatible params.p.required']],
  [PARAM, { ...PARAM, minimum: 1 }, ['breaking params.p.minimum']],
  [{ ...PARAM, minimum: 1 }, { ...PARAM, minimum: 2 }, ['breaking params.p.minimum']],
  [{ ...PARAM, minimum: 2 }, { ...PARAM, minimum: 1 }, ['compatible params.p.minimum']],
  [{ ...PARAM, minimum: 2 }, PARAM, ['compatible params.p.minimum']],
  [{ ...PARAM, minimum: 2 }, { ...PARAM, exclusiveMinimum: 1 }, []],
  [{ ...PARAM, maximum: 9 }, { ...PARAM, maximum: 8 }, ['breaking params.p.maximum']],
  [{ ...PARAM, maximum: 9 }, { ...PARAM, exclusiveMaximum: 9 }, ['breaking params.p.maximum']],
  [{ ...PARAM, maximum: 9 }, { ...PARAM, maximum: 10 }, ['compatible params.p.maximum']],
  [{ type: 'number', minimum: 1 }, { type: 'number', exclusiveMinimum: 1 }, ['breaking params.p.minimum']],
  [{ type: 'number', exclusiveMinimum: 1 }, { type: 'number', minimum: 1 }, ['compatible params.p.minimum']],
  [PARAM, { ...PARAM, multipleOf: 5 }, ['breaking params.p.multipleOf']],
  [PARAM, { ...PARAM, multipleOf: 0.5 }, ['compatible params.p.multipleOf']],
  [{ ...PARAM, multipleOf: 10 }, { ...PARAM, multipleOf: 5 }, ['compatible params.p.multipleOf']],
  [{ ...PARAM, multipleOf: 5 }, { ...PARAM, multipleOf: 10 }, ['breaking params.p.multipleOf']],
  [{ type: 'number' }, { type: 'number', multipleOf: 1 }, ['breaking params.p.multipleOf']],
  [{ type: 'string' }, { type: 'string', minLength: 1 }, ['breaking params.p.minLength']],
  [{ type: 'string', minLength: 2 }, { type: 'string', minLength: 1 }, ['compatible params.p.minLength']],
  [{ type: 'string' }, { type: 'string', maxLength: 9 }, ['breaking params.p.maxLength']],
  [{ type: 'string', maxLength: 9 }, { type: 'string', maxLength: 8 }, ['breaking params.p.maxLength']],
  [{ type: 'string', maxLength: 9 }, { type: 'string' }, ['compatible params.p.maxLength']],
  [{ type: 'string' }, { type: 'string', pattern: 'a' }, ['breaking params.p.pattern']],
  [{ type: 'string', pattern: 'b' }, { type: 'string', pattern: 'a' }, ['breaking params.p.pattern']],
  [{ type: 'string', pattern: 'b' }, { type: 'string' }, ['compatible params.p.pattern']],
  [{ type: 'string' }, { type: 'string', format: 'email' }, ['breaking params.p.format']],
  [{ type: 'string', format: 'email' }, { type: 'string' }, ['compatible params.p.format']],
  [PARAM, { ...PARAM, enum: [1, 2] }, ['breaking params.p.enum']],
  [{ ...PARAM, enum: [1, 2] }, { ...PARAM, enum: [2] }, ['breaking params.p.enum']],
  [{ ...PARAM, enum: [1, 2] }, { ...PARAM, enum: [3, 2, 1] }, ['compatible params.p.enum']],
  [{ ...PARAM, enum: [1, 2] }, { ...PARAM, enum: [2, 1] }, []],
  [
    { ...PARAM, enum: [1, 2] },
    { ...PARAM, enum: [2, 3] },
    ['breaking params.p.enum', 'compatible params.p.enum'],
  ],
  [{ ...PARAM, enum: [1, 2] }, PARAM, ['compatible params.p.enum']],
  [
    { type: 'array', items: { type: 'integer' } },
    { type: 'array', items: { type: 'string' } },
    ['breaking params.p.items.type'],
  ],
  [
    { type: 'array', items: { type: 'integer' } },
    { type: 'array', items: { type: 'integer', minimum: 1 }, maxItems: 5 },
    ['breaking params.p.maxItems', 'breaking params.p.items.minimum'],
  ],
  [
    { type: 'array', items: { type: 'integer' }, minItems: 1 },
    { type: 'array', items: { type: 'integer' } },
    ['compatible params.p.minItems'],
  ],
  [PARAM, { ...PARAM, default: 1 }, ['risky params.p.default']],
  [{ ...PARAM, default: 1 }, { ...PARAM, default: 2 }, ['risky params.p.default']],
  [{ ...PARAM, default: 1 }, PARAM, ['risky params.p.default']],
  [PARAM, { ...PARAM, description: 'New' }, ['risky params.p.description']],
  [
    { type: 'string' },
    { type: 'string', from: 'principal.subject' },
    ['breaking params.p', 'breaking params'],
  ],
  [
    { type: 'string', from: 'principal.subject' },
    { type: 'string' },
    ['compatible params.p', 'compatible params'],
  ],
];

test.each(PARAM_CHANGES)(
  'a parameter %j that becomes %j',
  { tags: ['command:diff'] },
  (old, now, expected) => {
    const identity = { identity: { trust: 'gateway' } };
    const file = (p: Json): Contract => fileOf({ params: { p } }, identity);
    expect(told(file(old), file(now))).toEqual(expected);
  },
);

const FIELD_CHANGES: readonly (readonly [old: Json, now: Json, expected: readonly string[]])[] = [
  [{ type: 'integer' }, { type: 'number' }, ['breaking result.one.type']],
  [{ type: 'date' }, { type: 'string' }, ['breaking result.one.type']],
  [{ ...FIELD, nullable: false }, FIELD, ['breaking result.one.nullable']],
  [FIELD, { ...FIELD, nullable: false }, ['compatible result.one.nullable']],
  [FIELD, { ...FIELD, description: 'New' }, ['risky result.one.description']],
  [FIELD, { ...FIELD, format: 'int32' }, ['risky result.one.format']],
  [{ ...FIELD, format: 'int32' }, FIELD, ['breaking result.one.format']],
  [{ ...FIELD, format: 'int32' }, { ...FIELD, format: 'int64' }, ['breaking result.one.format']],
];

test('other examples that callers are shown', { tags: ['command:diff'] }, () => {
  const withExample = (p: number): Contract =>
    fileOf({ examples: [{ params: { p }, expect: { count: 1 } }] });
  expect(told(fileOf({}), withExample(1))).toEqual(['compatible examples']);
  expect(told(withExample(1), withExample(2))).toEqual(['compatible examples']);
  expect(told(withExample(1), withExample(1))).toEqual([]);
});

test.each(FIELD_CHANGES)('a field %j that becomes %j', { tags: ['command:diff'] }, (old, now, expected) => {
  expect(told(withField(old), withField(now))).toEqual(expected);
});

const FILE_CHANGES: readonly (readonly [
  what: string,
  old: Contract,
  now: Contract,
  expected: readonly string[],
])[] = [
  ['nothing', fileOf({}), fileOf({}), []],
  ['a capability that is gone', fileOf({}), contractOf({ capabilities: {} }), ['breaking']],
  ['a new capability', contractOf({ capabilities: {} }), fileOf({}), ['compatible']],
  ['a parameter that is gone', fileOf({}), fileOf({ params: {} }), ['breaking params.p']],
  ['a new parameter', fileOf({ params: {} }), fileOf({}), ['compatible params.p']],
  [
    'a new required parameter',
    fileOf({ params: {} }),
    withParam({ ...PARAM, required: true }),
    ['breaking params.p'],
  ],
  [
    'a new parameter with a default',
    fileOf({ params: {} }),
    withParam({ ...PARAM, default: 1 }),
    ['risky params.p'],
  ],
  [
    'a field that is gone and a new one',
    fileOf({}),
    fileOf({ result: { two: FIELD } }),
    ['breaking result.one', 'risky result.two'],
  ],
  [
    'fields in another order',
    fileOf({ result: { one: FIELD, two: FIELD } }),
    fileOf({ result: { two: FIELD, one: FIELD } }),
    ['compatible result'],
  ],
  ['another description', fileOf({}), fileOf({ description: 'New' }), ['risky description']],
  ['pages', fileOf({}), fileOf({ paging: { p: 'one' } }), ['risky answer.next']],
  ['pages no more', fileOf({ paging: { p: 'one' } }), fileOf({}), ['breaking answer.next']],
  ['another query', fileOf({}), fileOf({ sql: `${SQL} ` }), ['compatible sql']],
  ['fewer rows', fileOf({}), withPolicy({ max_rows: 999 }), ['risky policy.max_rows']],
  ['more rows', fileOf({}), withPolicy({ max_rows: 1001 }), ['compatible policy.max_rows']],
  ['fewer bytes', fileOf({}), withPolicy({ max_bytes: '1KB' }), ['risky policy.max_bytes']],
  ['less time', fileOf({}), withPolicy({ timeout: '1s' }), ['risky policy.timeout']],
  [
    'lower caps of all',
    fileOf({}),
    fileOf({}, { defaults: { max_rows: 1, timeout: '1m' } }),
    ['risky policy.max_rows', 'compatible policy.timeout'],
  ],
  [
    'an error in place of fewer rows',
    fileOf({}),
    withPolicy({ on_limit: 'error' }),
    ['risky policy.on_limit'],
  ],
  [
    'another function',
    fileOf({}),
    withPolicy({ allow_functions: ['f'] }),
    ['compatible policy.allow_functions'],
  ],
  [
    'a foreign table',
    fileOf({}),
    withPolicy({ allow_foreign_tables: ['shop.remote'] }),
    ['compatible policy.allow_foreign_tables'],
  ],
  ['one that is hidden', fileOf({}), fileOf({ expose_in_openapi: false }), ['breaking expose_in_openapi']],
  ['one that is shown', fileOf({ expose_in_openapi: false }), fileOf({}), ['compatible expose_in_openapi']],
  [
    'a hidden one that is gone',
    fileOf({ expose_in_openapi: false }),
    contractOf({ capabilities: {} }),
    ['breaking'],
  ],
  [
    'another service',
    fileOf({}, { service: { title: 'a', version: '1', description: 'a' } }),
    fileOf({}, { service: { title: 'b', version: '2', description: 'b' } }),
    ['risky service.description', 'compatible service.title', 'compatible service.version'],
  ],
  [
    'a service of another id',
    fileOf({}, { service: { id: 'a' } }),
    fileOf({}, { service: { id: 'b' } }),
    ['breaking service.id'],
  ],
  ['who may call', fileOf({}), fileOf({}, { identity: { trust: 'gateway' } }), ['risky identity']],
  [
    'what callers see nothing of',
    fileOf({}, { gateway: { url: '${NOT_SET}' } }),
    fileOf({}, { database: { password_file: '/nowhere' }, runtime: { workers: 2 } }),
    [],
  ],
];

test.each(FILE_CHANGES)('a file with %s', { tags: ['command:diff'] }, (_what, old, now, expected) => {
  expect(told(old, now)).toEqual(expected);
});

/** As a gateway serves it, whose database has narrowed `p`. */
function served(p: Json, paths?: Json): Contract {
  const properties = { p: { type: ['integer', 'null'], ...p } };
  const schema = { type: 'object', properties, additionalProperties: false };
  const rows = { type: 'array', items: { properties: { one: { type: ['integer', 'null'] } } } };
  const answer = { type: 'object', properties: { rows, count: { type: 'integer' } } };
  const post = {
    description: 'C',
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 200: { content: { 'application/json': { schema: answer } } } },
  };
  const contract = readOpenApi({
    openapi: '3.1.0',
    info: { title: 'Capabilities', version: '0.0.0' },
    paths: paths ?? { '/api/v1/capabilities/c': { post } },
  });
  if (contract === undefined) throw new Error('no contract');
  return contract;
}

test('of a file and a gateway, what the database adds is no change', { tags: ['command:diff'] }, () => {
  const range = { minimum: -2_147_483_648, maximum: 2_147_483_647 };
  expect(told(fileOf({}), served(range))).toEqual([]);
  expect(told(served(range), fileOf({}))).toEqual([]);
  expect(told(served({ minimum: 1 }), fileOf({}))).toEqual(['compatible params.p.minimum']);
  expect(told(fileOf({}), served({ minimum: 1 }))).toEqual(['breaking params.p.minimum']);
  expect(told(served({}), served(range))).toEqual(['breaking params.p.minimum', 'breaking params.p.maximum']);
});

test('the bounds that earlier agents gave to every number are none', { tags: ['command:diff'] }, () => {
  const [minimum, maximum] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  for (const now of [fileOf({}), served({})]) {
    expect(told(served({ minimum, maximum }), now)).toEqual([]);
    expect(told(now, served({ minimum, maximum }))).toEqual([]);
  }
  const least = { type: 'integer', minimum: 1 };
  expect(told(served({ ...least, maximum }), withParam(least))).toEqual([]);
});

test('of a file and a gateway, what is hidden is not missed', { tags: ['command:diff'] }, () => {
  const hidden = fileOf({ expose_in_openapi: false });
  expect(told(hidden, served({}, {}))).toEqual([]);
  expect(told(served({}, {}), hidden)).toEqual([]);
  expect(told(served({}), hidden)).toEqual(['breaking expose_in_openapi']);
  expect(told(served({}), served({}, {}))).toEqual(['breaking']);
});

test('a rule that is not known is not called compatible', { tags: ['command:diff'] }, () => {
  expect(told(served({}), served({ not: { const: 1 } }))).toEqual(['risky params.p.not']);
  expect(told(served({}), served({ examples: [1] }))).toEqual(['compatible params.p.examples']);
});

test('what is no description of capabilities is not read as one', { tags: ['command:diff'] }, () => {
  for (const document of [undefined, null, [], 'x', {}, { openapi: '3.1.0' }, { openapi: 3, paths: {} }])
    expect(readOpenApi(document)).toBeUndefined();
});

test.each<[what: string, old: Json, now: Json, expected: readonly string[]]>([
  [
    'an order gone',
    { sort: { a: 'one', b: 'one desc' } },
    { sort: { a: 'one' } },
    ['breaking params.sort.enum'],
  ],
  [
    'a new order',
    { sort: { a: 'one' } },
    { sort: { a: 'one', b: 'one desc' } },
    ['compatible params.sort.enum'],
  ],
  [
    'another default order',
    { sort: { a: 'one', b: 'one desc' } },
    { sort: { b: 'one desc', a: 'one' } },
    ['risky params.sort.default'],
  ],
  ['other terms', { sort: { a: 'one' } }, { sort: { a: 'one desc' } }, ['risky sort.a']],
  ['another order of pages', { paging: 'one' }, { paging: ['one', 'two'] }, ['risky paging']],
  ['a new cursor', {}, { paging: 'one' }, ['risky answer.next', 'compatible params.cursor']],
  [
    'a new filter',
    { sql: `${SQL} where {filters}`, params: { p: { ...PARAM, filter: 'one = :p' } } },
    {
      sql: `${SQL} where {filters}`,
      params: { p: { ...PARAM, filter: 'one = :p' }, q: { ...PARAM, filter: 'one > :q' } },
    },
    ['compatible params.q'],
  ],
  [
    'another condition',
    { sql: `${SQL} where {filters}`, params: { p: { ...PARAM, filter: 'one = :p' } } },
    { sql: `${SQL} where {filters}`, params: { p: { ...PARAM, filter: 'one >= :p' } } },
    ['risky params.p.filter'],
  ],
])('of filters, orders and pages: %s', (_what, old, now, expected) => {
  const result = { one: { ...FIELD, nullable: false }, two: { ...FIELD, nullable: false } };
  expect(told(fileOf({ result, ...old }), fileOf({ result, ...now }))).toEqual(expected);
});
