import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createAgentSecret,
  runProcess,
  startService,
  SVC_AGENT,
  temporaryFolder,
  testDatabase,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COLUMNS, EXPRESSIONS, SCHEMA, type ColumnCase, type ResultType } from './result-types.testing.ts';

/** What a column must be cast to, told in the start-up fault, when it cannot be given as declared. */
const CAST: Readonly<Record<ResultType, string | undefined>> = {
  integer: 'is an integer (::bigint; a numeric may hold fractions)',
  number: 'is a number (::numeric)',
  string: undefined,
  boolean: 'is a boolean',
  date: 'is a date (::date)',
  datetime: 'is a timestamp (::timestamptz)',
  array: 'is an array or JSON (to_jsonb(...), array_agg(...))',
  object: 'is JSON or a row (to_jsonb(...), jsonb_build_object(...))',
};
const ALL = Object.keys(CAST).filter((type): type is ResultType => type in CAST);

interface Case extends ColumnCase {
  /** Of its capability and its table. */
  readonly name: string;
  readonly title: string;
  readonly from: string;
}

const CASES: readonly Case[] = [
  ...COLUMNS.map((one, index) => ({
    ...one,
    name: `column_${index}`,
    title: one.type,
    from: `(select v from column_${index} order by id)`,
  })),
  ...EXPRESSIONS.map((one, index) => ({
    ...one,
    name: `expression_${index}`,
    title: `an expression of type ${one.type}`,
    from: `(select ${one.values[0]?.[0] ?? ''})`,
  })),
];

/** NULL comes last in every table whose columns take it. */
function holdsNull({ type, name }: Case): boolean {
  return name.startsWith('column') && !type.endsWith('serial');
}

function tableOf(one: Case): string {
  const values = one.values.map(([sql]) => `(${sql})`).join(', ');
  return `create table ${one.name} (id int generated always as identity, v ${one.type});
    insert into ${one.name} (v) values ${values};
    ${holdsNull(one) ? `insert into ${one.name} (v) values (null);` : ''}`;
}

function capabilityOf(one: Case, types: readonly ResultType[]): Readonly<Record<string, unknown>> {
  const columns = types.map((type) => `q.v as "${type}"`).join(', ');
  return {
    description: one.title,
    sql: `select ${columns} from ${one.from} q (v)`,
    result: Object.fromEntries(types.map((type) => [type, { type }])),
  };
}

/** The answer to a call, written by hand from the table. */
function answerOf(one: Case, given: readonly ResultType[] = one.as): string {
  const texts = [...one.values, ...(holdsNull(one) ? [['', ...one.as.map(() => 'null')]] : [])];
  const rows = texts.map(([, ...json]) => {
    const fields = one.as.flatMap((type, index) =>
      given.includes(type) ? [`"${type}":${json[index]}`] : [],
    );
    return `{${fields.join(',')}}`;
  });
  return `{"rows":[${rows.join(',')}],"count":${rows.length}}`;
}

let database: TestDatabase;
let version: number;
let service: Service;
let strange: Service;
let reader: string;
beforeAll(async () => {
  database = await testDatabase({ sql: [SCHEMA] });
  version = await database.version();
  reader = `${database.name}_reader`;
  const known = CASES.filter(isKnown);
  await database.execute(`
    ${known
      .filter(({ name }) => name.startsWith('column'))
      .map(tableOf)
      .join('\n')}
    create role ${reader} login password 'reader';
    grant select on all tables in schema public to ${reader};
    alter role ${reader} set datestyle = 'SQL, DMY';
    alter role ${reader} set timezone = 'Europe/Berlin';
    alter role ${reader} set intervalstyle = 'iso_8601';
    alter role ${reader} set bytea_output = 'escape';
    alter role ${reader} set extra_float_digits = -15;
    alter role ${reader} set search_path = public;
  `);
  const capabilities = JSON.stringify({
    ...Object.fromEntries(known.map((one) => [one.name, capabilityOf(one, one.as)])),
    ...Object.fromEntries(
      known.flatMap((one) => {
        const typed = one.as.filter((type) => type !== 'string');
        return typed.length === 0 ? [] : [[`typed_${one.name}`, capabilityOf(one, typed)]];
      }),
    ),
    never_null: {
      sql: 'select n as id, nullif(n, 3) as other, repeat($$x$$, 10) as filler from generate_series(1, coalesce(:n::int, 1)) n',
      params: { n: { type: 'integer' } },
      policy: { max_rows: 3 },
      result: {
        id: { type: 'integer', nullable: false },
        other: { type: 'integer', nullable: false },
        filler: { type: 'string', nullable: true, format: 'x-filler' },
      },
    },
    empty_row: {
      sql: 'select row(null, null)::pair as row',
      result: { row: { type: 'object', nullable: false } },
    },
  });
  [service, strange] = await Promise.all([
    startService({ database, capabilities: `capabilities: ${capabilities}` }),
    startService({
      database: { ...database, user: reader, password: 'reader' },
      capabilities: `capabilities: ${capabilities}`,
    }),
  ]);
});
afterAll(async () => {
  await Promise.all([service.stop(), strange.stop()]);
  await database.execute(`drop owned by ${reader}; drop role ${reader}`);
});

function isKnown({ since = 0 }: ColumnCase): boolean {
  return version >= since;
}

function tagsOf({ as }: ColumnCase): string[] {
  return ['sql:types', 'capability:result.type', ...as.map((type) => `result:${type}`)];
}

for (const one of CASES) {
  const values = one.values.map(([sql]) => sql).join(' | ');
  test(`${one.title} leaves as ${one.as.join(', ')}: ${values}`, { tags: tagsOf(one) }, async ({ skip }) => {
    skip(!isKnown(one), `PostgreSQL ${version} has no such ${one.type}`);
    const { status, text } = await service.call(one.name, {});
    expect(text).toBe(answerOf(one));
    expect(status).toBe(200);
  });
}

test(
  'every answer meets the schema that /openapi.json has for it',
  { tags: ['openapi:response'] },
  async () => {
    const { json } = await service.get('/openapi.json');
    const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
    addFormats.default(ajv);
    ajv.addFormat('x-filler', true);
    const names = ['never_null', ...CASES.filter(isKnown).map(({ name }) => name)];
    for (const name of names) {
      const validate = ajv.compile(Object(responseSchema(json, name)));
      validate((await service.call(name, {})).json);
      expect({ name, errors: validate.errors }).toEqual({ name, errors: null });
    }
  },
);

function responseSchema(document: unknown, name: string): unknown {
  const path = [
    'paths',
    `/api/v1/capabilities/${name}`,
    'post',
    'responses',
    '200',
    'content',
    'application/json',
    'schema',
  ];
  return path.reduce((value: unknown, key) => new Map(Object.entries(Object(value))).get(key), document);
}

describe('whatever the settings of the account', () => {
  /** What the declared type leaves open is as the account has it; of the first value. */
  const OWN: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    date: { string: '29/02/2024', date: '2024-02-29' },
    // Half past twelve in Berlin, which is one hour ahead of UTC.
    timestamp: { string: '29/02/2024 12:30:00', datetime: '2024-02-29T11:30:00+00:00' },
    timestamptz: { string: '29/02/2024 11:30:00.5 CET', datetime: '2024-02-29T10:30:00.5+00:00' },
    'timestamptz[]': { array: ['2024-02-29T13:30:00+01:00', null] },
    reading: { object: { at: '2024-02-29T13:30:00+01:00', v: 'NaN', j: { k: 1 } } },
    interval: { string: 'P1Y2M3DT4H5M6.7S' },
    bytea: { string: String.raw`\000\377` },
    'bytea[]': { array: [String.raw`\000\377`] },
    'double precision': { string: '0.30000000000000004', number: 0.1 + 0.2 },
  };

  test.each(Object.entries(OWN))(
    '%s',
    { tags: ['result:string', 'result:date', 'result:datetime'] },
    async (type, fields) => {
      const { json } = await strange.call(CASES.find((one) => one.type === type)?.name ?? '', {});
      expect(json).toMatchObject({ rows: expect.arrayContaining([expect.objectContaining(fields)]) });
    },
  );

  test('everything else is the same', { tags: ['sql:types'] }, async () => {
    const changed = new Set(['timestamp', 'timestamptz[]', 'reading', 'bytea[]']);
    for (const one of CASES) {
      const typed = one.as.filter((type) => type !== 'string');
      if (!isKnown(one) || changed.has(one.type) || typed.length === 0) continue;
      expect((await strange.call(`typed_${one.name}`, {})).text).toBe(answerOf(one, typed));
    }
  });
});

test(
  'a null in a field that is declared without is an error, a null elsewhere is not',
  { tags: ['capability:result.nullable'] },
  async () => {
    expect((await service.call('never_null', { n: 2 })).text).toBe(
      '{"rows":[{"id":1,"other":1,"filler":"xxxxxxxxxx"},{"id":2,"other":2,"filler":"xxxxxxxxxx"}],"count":2}',
    );
    const broken = await service.call('never_null', { n: 3 });
    expect(broken).toMatchObject({ status: 502, json: { error: { code: 'AGENT_QUERY_FAILED' } } });
    const log = join(service.agentFolder(0), 'svc-agent.log');
    await expect
      .poll(() => readFile(log, 'utf8'))
      .toContain('field other is null, and its nullable is false');
    expect((await service.call('empty_row', {})).text).toBe(
      '{"rows":[{"row":{"n":null,"t":null}}],"count":1}',
    );
  },
);

describe('at start', () => {
  let lines: readonly string[];
  beforeAll(async () => {
    const capabilities = {
      ...Object.fromEntries(CASES.filter(isKnown).map((one) => [one.name, capabilityOf(one, ALL)])),
      lacking: { sql: 'select 1 as a', result: { a: { type: 'integer' }, b: { type: 'integer' } } },
      twice: { sql: 'select 1 as a, 2 as a', result: { a: { type: 'integer' } } },
      hidden_twice: { sql: 'select 1 as a, 2 as b, 3 as b', result: { a: { type: 'integer' } } },
    };
    lines = await faultsOf(capabilities);
  });

  test(
    'every column that cannot be given as declared is a fault, and no other',
    { tags: ['result:impossible', 'sql:types'] },
    () => {
      const found = lines.flatMap((line) => {
        const [, name, type, message = ''] =
          /capabilities\.(\w+?_\d+)\.result\.(\w+): (.*)$/.exec(line) ?? [];
        return name === undefined
          ? []
          : [
              `${name} ${type}: ${message.replace(/^the column is (?:a type of the database|[a-z0-9_" ]+(?:\[\])?): /, '')}`,
            ];
      });
      const expected = CASES.filter(isKnown).flatMap((one) =>
        ALL.filter((type) => !one.as.includes(type)).map(
          (type) => `${one.name} ${type}: cast it so that it ${CAST[type]}, or declare another type`,
        ),
      );
      expect(found.toSorted()).toEqual(expected.toSorted());
      expect(expected.length).toBeGreaterThan(400);
    },
  );

  test('so is a listed field that the SQL does not produce', { tags: ['result:missing-column'] }, () => {
    expect(lines.filter((line) => line.includes('capabilities.lacking.'))).toEqual([
      expect.stringMatching(/capabilities\.lacking\.result\.b: is not a column of the SQL/),
    ]);
  });

  test('so are two columns of one name, listed or not', { tags: ['result:two-columns'] }, () => {
    expect(lines.filter((line) => /capabilities\.\w*twice\./.test(line))).toEqual([
      expect.stringMatching(/capabilities\.twice\.sql: yields two columns named a: rename one with AS$/),
      expect.stringMatching(
        /capabilities\.hidden_twice\.sql: yields two columns of one name: rename one with AS$/,
      ),
    ]);
  });
});

/** The lines of `svc-agent check`. */
async function faultsOf(capabilities: unknown): Promise<readonly string[]> {
  const folder = await temporaryFolder('result-types');
  const file = join(folder.path, 'capability.yaml');
  const { host, port, name, user, password } = database;
  const { agent_private_key } = createAgentSecret();
  await writeFile(
    file,
    JSON.stringify({
      service: { title: 'Test', version: '1.0.0' },
      gateway: { url: 'ws://127.0.0.1:1/ws/agent', agent_private_key },
      database: { driver: 'postgres', host, port, name, user, password },
      capabilities,
    }),
  );
  await copyFile(SVC_AGENT, join(folder.path, 'svc-agent'));
  const { code, stdout } = await runProcess(join(folder.path, 'svc-agent'), ['check'], { cwd: folder.path });
  expect(code).toBe(2);
  await folder.remove();
  return stdout.trimEnd().split('\n');
}
