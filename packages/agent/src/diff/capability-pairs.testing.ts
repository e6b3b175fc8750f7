import * as fc from 'fast-check';

export type Json = Readonly<Record<string, unknown>>;

/** A capability as in the file. Its SQL runs on any database and answers two rows. */
export interface CapabilityJson {
  readonly sql: string;
  readonly params: Readonly<Record<string, Json>>;
  readonly result: Readonly<Record<string, Json>>;
  readonly [key: string]: unknown;
}

/** What is around the rules below, on both sides of each bound. Null and nothing go without saying. */
export const CANDIDATES: Readonly<Record<string, readonly unknown[]>> = {
  integer: Array.from({ length: 24 }, (_, at) => at - 6),
  number: Array.from({ length: 48 }, (_, at) => at / 2 - 6),
  string: ['', 'a', 'ab', 'abc', 'cab', 'b-c', 'zzzzzz', 'abcabcc', 'abcdefghi', 'a@b.example', 'c@d.c'],
  boolean: [true, false],
  date: ['2024-02-29', '2025-01-01', '1999-12-31'],
  datetime: ['2024-02-29T12:00:00Z', '2025-01-01T00:00:00+02:00'],
  uuid: ['6f1c0d2e-0000-4000-8000-000000000001', '6F1C0D2E-0000-4000-8000-000000000002'],
  array: [[], [6], [0], [1, 2], [6, 12], [1, 2, 3], [6, 6, 6], [1, 2, 3, 4], [-1], [10]],
  object: [{}, { a: 1 }],
};

/** What a database answers for a field: a value of JSON, and the SQL that makes it. */
export const ANSWERS: Readonly<Record<string, { readonly json: unknown; readonly sql: string }>> = {
  integer: { json: 7, sql: '7::int8' },
  number: { json: 1.5, sql: '1.5::numeric' },
  string: { json: 'a@b.example', sql: "'a@b.example'::text" },
  boolean: { json: true, sql: 'true' },
  date: { json: '2024-02-29', sql: "date '2024-02-29'" },
  datetime: { json: '2024-02-29T12:00:00Z', sql: "timestamptz '2024-02-29T12:00:00Z'" },
  array: { json: [1, 2], sql: 'array[1, 2]' },
  object: { json: { a: 1 }, sql: "jsonb_build_object('a', 1)" },
};

/** Each rule by itself or none of it; all of them fit each other, 6 fits those of numbers. */
const oneOf = (...choices: readonly Json[]): fc.Arbitrary<Json> => fc.constantFrom({}, ...choices);
const all = (...parts: readonly fc.Arbitrary<Json>[]): fc.Arbitrary<Json> =>
  fc.tuple(...parts).map((jsons) => Object.fromEntries(jsons.flatMap((json) => Object.entries(json))));

const lower = oneOf({ minimum: 0 }, { minimum: 1 }, { exclusiveMinimum: 0 }, { exclusiveMinimum: 1 });
const upper = oneOf({ maximum: 9 }, { maximum: 10 }, { exclusiveMaximum: 10 }, { exclusiveMaximum: 9 });
const ruledNumber = all(
  lower,
  upper,
  oneOf({ multipleOf: 1 }, { multipleOf: 2 }, { multipleOf: 3 }, { multipleOf: 6 }, { multipleOf: 0.5 }),
);
const number = fc.oneof(
  { weight: 3, arbitrary: ruledNumber },
  oneOf({ enum: [1, 2] }, { enum: [1, 2, 3] }, { enum: [2, 1] }, { enum: [6] }),
);
const RULES: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  integer: number,
  number,
  string: fc.oneof(
    {
      weight: 3,
      arbitrary: all(
        oneOf({ minLength: 0 }, { minLength: 1 }, { minLength: 2 }),
        oneOf({ maxLength: 6 }, { maxLength: 8 }),
        oneOf({ pattern: '^[a-c]' }, { pattern: 'c$' }),
        oneOf({ format: 'email' }),
      ),
    },
    oneOf({ enum: ['a', 'b-c'] }, { enum: ['a', 'b-c', 'c'] }),
  ),
  // openapi-python-client leaves out what has an optional one with `enum`.
  boolean: fc.constant({}),
  date: oneOf({ enum: ['2024-02-29'] }),
  datetime: fc.constant({}),
  uuid: fc.constant({}),
  array: all(
    ruledNumber.map((rules) => ({ items: { type: 'integer', ...rules } })),
    oneOf({ minItems: 0 }, { minItems: 1 }),
    oneOf({ maxItems: 2 }, { maxItems: 3 }),
  ),
  object: fc.constant({}),
};
const description = oneOf({ description: 'One.' }, { description: 'Another.' });

function paramOf(type: string): fc.Arbitrary<Json> {
  const isNumber = type === 'integer' || type === 'number';
  return all(
    fc.constant({ type }),
    RULES[type] ?? fc.constant({}),
    fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, description),
    fc.constantFrom({}, {}, { required: true }, { required: false }, isNumber ? { default: 6 } : {}),
  ).map((param) =>
    Array.isArray(param['enum']) && 'default' in param ? { ...param, default: param['enum'][0] } : param,
  );
}

function fieldOf(type: string): fc.Arbitrary<Json> {
  const hasFormats = ['integer', 'number', 'string'].includes(type);
  return all(
    fc.constant({ type }),
    fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, description),
    oneOf({ nullable: true }, { nullable: false }),
    hasFormats ? fc.constantFrom({}, {}, {}, { format: 'x-one' }, { format: 'x-two' }) : fc.constant({}),
  );
}

const param = fc.constantFrom(...Object.keys(CANDIDATES)).chain(paramOf);
const field = fc.constantFrom(...Object.keys(ANSWERS)).chain(fieldOf);
// Not `d`, which clients of openapi-python-client call something of their own.
const PARAMS = ['a', 'b', 'c', 'e'];
const FIELDS = ['x', 'y', 'z'];

type Parts = Pick<CapabilityJson, 'params' | 'result'> & { readonly others: Json };
type Edit = (parts: Parts) => Parts;

const without = (record: Readonly<Record<string, Json>>, name: string): Readonly<Record<string, Json>> =>
  Object.fromEntries(Object.entries(record).filter(([each]) => each !== name));

function editOf({ params, result }: Parts): fc.Arbitrary<Edit> {
  const again = (
    record: Readonly<Record<string, Json>>,
    make: (type: string) => fc.Arbitrary<Json>,
    put: (parts: Parts, name: string, spec: Json) => Parts,
  ): readonly fc.Arbitrary<Edit>[] =>
    Object.entries(record).map(([name, { type }]) =>
      make(String(type)).map((spec) => (parts: Parts) => put(parts, name, spec)),
    );
  const putParam = (parts: Parts, name: string, spec: Json): Parts => ({
    ...parts,
    params: { ...parts.params, [name]: spec },
  });
  const putField = (parts: Parts, name: string, spec: Json): Parts => ({
    ...parts,
    result: { ...parts.result, [name]: spec },
  });
  return fc.oneof(
    ...again(params, paramOf, putParam),
    ...again(params, paramOf, putParam),
    ...again(result, fieldOf, putField),
    fc.tuple(fc.constantFrom(...PARAMS), param).map(
      ([name, spec]) =>
        (parts: Parts) =>
          putParam(parts, name, spec),
    ),
    fc.tuple(fc.constantFrom(...FIELDS), field).map(
      ([name, spec]) =>
        (parts: Parts) =>
          putField(parts, name, spec),
    ),
    fc.constantFrom(...PARAMS).map((name) => (parts: Parts) => ({
      ...parts,
      params: without(parts.params, name),
    })),
    fc.constant((parts: Parts) => ({
      ...parts,
      result: Object.fromEntries(Object.entries(parts.result).toReversed()),
    })),
    all(description, oneOf({ policy: { max_rows: 10 } }, { policy: { max_rows: 2000 } })).map(
      (others) => (parts: Parts) => ({ ...parts, others }),
    ),
  );
}

function withSql({ params, result, others }: Parts): CapabilityJson {
  const fields = Object.entries(result).map(([name, { type, nullable }]) => {
    const { sql = 'null' } = ANSWERS[String(type)] ?? {};
    return `${nullable === false ? sql : `case when n = 1 then ${sql} end`} as ${name}`;
  });
  const uses = Object.keys(params).map((name) => `(:${name} is null or true)`);
  const where = uses.length === 0 ? '' : ` where ${uses.join(' and ')}`;
  const sql = `select ${fields.join(', ')} from (values (1), (2)) as r (n)${where} order by n`;
  return { sql, params, result, ...others };
}

/** A capability and what one or two edits have made of it. */
export const capabilityPair: fc.Arbitrary<{ readonly old: CapabilityJson; readonly now: CapabilityJson }> = fc
  .record({
    params: fc.dictionary(fc.constantFrom(...PARAMS), param, { maxKeys: 3, noNullPrototype: true }),
    result: fc.dictionary(fc.constantFrom(...FIELDS), field, {
      minKeys: 1,
      maxKeys: 3,
      noNullPrototype: true,
    }),
    others: fc.constant<Json>({}),
  })
  .chain((parts) =>
    fc.array(editOf(parts), { minLength: 1, maxLength: 2 }).map((edits) => {
      let edited: Parts = parts;
      for (const edit of edits) edited = edit(edited);
      return { old: withSql(parts), now: withSql(edited) };
    }),
  );
