export type ResultType =
  | 'integer'
  | 'number'
  | 'string'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'array'
  | 'object';

export interface ColumnCase {
  /** Of the column in the table that the test makes. */
  readonly type: string;
  /** The result types that it can be given as; every other one must be a fault at start. */
  readonly as: readonly ResultType[];
  /** SQL of a value, and the JSON text that leaves for each of `as`. */
  readonly values: readonly (readonly [sql: string, ...json: string[]])[];
  /** `server_version_num` from which on there is such a type or such values. */
  readonly since?: number;
}

function column(
  type: string,
  as: readonly ResultType[],
  values: ColumnCase['values'],
  since?: number,
): ColumnCase {
  return { type, as, values, ...(since === undefined ? {} : { since }) };
}

/** Columns that have one form only, their text; given as the text of the JSON string. */
function text(type: string, values: ColumnCase['values'], since?: number): ColumnCase {
  return column(type, ['string'], values, since);
}

/** What the columns below are made of. */
export const SCHEMA = `
  create extension citext;
  create extension hstore;
  create type mood as enum ('sad', 'very glad');
  create type pair as (n int, t text);
  create type reading as (at timestamptz, v float8, j json);
  create domain percent as numeric(5, 0);
  create domain share as float8;
  create domain small_share as share check (value < 2);
  create domain birthday as date;
  create domain ids as int[];
  create domain couple as pair;
  create domain feeling as mood;
  create function nothing() returns void language plpgsql immutable as 'begin end';
`;

const numbers: readonly ResultType[] = ['integer', 'number', 'string'];
const arrays: readonly ResultType[] = ['string', 'array'];
const fraction: readonly ResultType[] = ['number', 'string'];

export const COLUMNS: readonly ColumnCase[] = [
  column('smallint', numbers, [
    ['-32768', '-32768', '-32768', '"-32768"'],
    ['0', '0', '0', '"0"'],
  ]),
  column('integer', numbers, [
    ['2147483647', '2147483647', '2147483647', '"2147483647"'],
    ["'-2147483648'", '-2147483648', '-2147483648', '"-2147483648"'],
  ]),
  column('bigint', numbers, [
    ['9007199254740993', '9007199254740993', '9007199254740993', '"9007199254740993"'],
    ['9223372036854775807', '9223372036854775807', '9223372036854775807', '"9223372036854775807"'],
    ["'-9223372036854775808'", '-9223372036854775808', '-9223372036854775808', '"-9223372036854775808"'],
  ]),
  column('smallserial', numbers, [['1', '1', '1', '"1"']]),
  column('serial', numbers, [['1', '1', '1', '"1"']]),
  column('bigserial', numbers, [
    ['9007199254740993', '9007199254740993', '9007199254740993', '"9007199254740993"'],
  ]),
  column('oid', numbers, [['4294967295', '4294967295', '4294967295', '"4294967295"']]),
  column('numeric', fraction, [
    [
      '123456789012345678901234567890.123456789',
      '123456789012345678901234567890.123456789',
      '"123456789012345678901234567890.123456789"',
    ],
    ['-0.50', '-0.50', '"-0.50"'],
    ['1e-20', '0.00000000000000000001', '"0.00000000000000000001"'],
    ["'NaN'", 'null', '"NaN"'],
  ]),
  column(
    'numeric',
    fraction,
    [
      ["'Infinity'", 'null', '"Infinity"'],
      ["'-Infinity'", 'null', '"-Infinity"'],
    ],
    140_000,
  ),
  column('numeric(10, 2)', fraction, [
    ['12.5', '12.50', '"12.50"'],
    ["'NaN'", 'null', '"NaN"'],
  ]),
  column('numeric(30, 0)', numbers, [
    [
      '123456789012345678901234567890',
      '123456789012345678901234567890',
      '123456789012345678901234567890',
      '"123456789012345678901234567890"',
    ],
    ["'NaN'", 'null', 'null', '"NaN"'],
  ]),
  column('numeric(3, -2)', numbers, [['12345', '12300', '12300', '"12300"']], 150_000),
  column('real', fraction, [
    ['0.1', '0.1', '"0.1"'],
    ["'3.4028235e38'", '3.4028235e+38', '"3.4028235e+38"'],
    ["'-0'", '-0', '"-0"'],
    ["'NaN'", 'null', '"NaN"'],
    ["'-Infinity'", 'null', '"-Infinity"'],
  ]),
  column('double precision', fraction, [
    ["'0.1'::float8 + '0.2'::float8", '0.30000000000000004', '"0.30000000000000004"'],
    ["'1e308'", '1e+308', '"1e+308"'],
    ["'5e-324'", '5e-324', '"5e-324"'],
    ["'-0'", '-0', '"-0"'],
    ["'NaN'", 'null', '"NaN"'],
    ["'Infinity'", 'null', '"Infinity"'],
    ["'-Infinity'", 'null', '"-Infinity"'],
  ]),
  text('money', [
    ["'1234.5'::numeric::money", '"$1,234.50"'],
    ["'-0.01'::numeric::money", '"-$0.01"'],
  ]),

  text('text', [
    [String.raw`E'a"b\\c/\n\té 😀'`, String.raw`"a\"b\\c/\n\té 😀"`],
    ['chr(1) || chr(127)', `"\\u0001${String.fromCodePoint(127)}"`],
    ["''", '""'],
    ["'null'", '"null"'],
  ]),
  text('varchar(5)', [["'ab '", '"ab "']]),
  text('char(5)', [["'ab'", '"ab   "']]),
  text('name', [["'a name'", '"a name"']]),
  text('"char"', [["'x'", '"x"']]),
  text('citext', [["'MiXed'", '"MiXed"']]),
  text('uuid', [["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"']]),
  column(
    'boolean',
    ['boolean', 'string'],
    [
      ['true', 'true', '"true"'],
      ['false', 'false', '"false"'],
    ],
  ),
  text('mood', [["'very glad'", '"very glad"']]),

  column(
    'date',
    ['date', 'string'],
    [
      ["'2024-02-29'", '"2024-02-29"', '"2024-02-29"'],
      ["'0001-01-01'", '"0001-01-01"', '"0001-01-01"'],
      ["'9999-12-31'", '"9999-12-31"', '"9999-12-31"'],
      ["'10000-01-01'", 'null', '"10000-01-01"'],
      ["'0044-03-15 BC'", 'null', '"0044-03-15 BC"'],
      ["'infinity'", 'null', '"infinity"'],
      ["'-infinity'", 'null', '"-infinity"'],
    ],
  ),
  text('time', [
    ["'23:59:59.999999'", '"23:59:59.999999"'],
    ["'24:00:00'", '"24:00:00"'],
  ]),
  text('timetz', [["'12:00:00+02:30'", '"12:00:00+02:30"']]),
  column(
    'timestamp',
    ['datetime', 'string'],
    [
      ["'2024-02-29 12:30:00'", '"2024-02-29T12:30:00+00:00"', '"2024-02-29 12:30:00"'],
      ["'2024-02-29 12:30:00.123456'", '"2024-02-29T12:30:00.123456+00:00"', '"2024-02-29 12:30:00.123456"'],
      ["'0044-03-15 12:00 BC'", 'null', '"0044-03-15 12:00:00 BC"'],
      ["'294276-12-31 23:59:59.999999'", 'null', '"294276-12-31 23:59:59.999999"'],
      ["'infinity'", 'null', '"infinity"'],
    ],
  ),
  column(
    'timestamptz',
    ['datetime', 'string'],
    [
      ["'2024-02-29 12:30:00.5+02'", '"2024-02-29T10:30:00.5+00:00"', '"2024-02-29 10:30:00.5+00"'],
      ["'1880-01-01 00:00:00+00'", '"1880-01-01T00:00:00+00:00"', '"1880-01-01 00:00:00+00"'],
      ["'0001-01-01 00:00:00+00'", '"0001-01-01T00:00:00+00:00"', '"0001-01-01 00:00:00+00"'],
      [
        "'9999-12-31 23:59:59.999999+00'",
        '"9999-12-31T23:59:59.999999+00:00"',
        '"9999-12-31 23:59:59.999999+00"',
      ],
      ["'10000-01-01 00:00:00+00'", 'null', '"10000-01-01 00:00:00+00"'],
      ["'0044-03-15 12:00:00+00 BC'", 'null', '"0044-03-15 12:00:00+00 BC"'],
      ["'-infinity'", 'null', '"-infinity"'],
    ],
  ),
  text('interval', [["'1 year 2 months 3 days 04:05:06.7'", '"1 year 2 mons 3 days 04:05:06.7"']]),

  column(
    'json',
    ['string', 'array', 'object'],
    [
      [`'{"b":1,"a":2,"b":3}'`, String.raw`"{\"b\":1,\"a\":2,\"b\":3}"`, 'null', '{"b":1,"a":2,"b":3}'],
      ["'[1, 1.50, 1e400]'", '"[1, 1.50, 1e400]"', '[1, 1.50, 1e400]', 'null'],
      [
        String.raw`'{"u":"\u0041\u0000"}'`,
        String.raw`"{\"u\":\"\\u0041\\u0000\"}"`,
        'null',
        String.raw`{"u":"\u0041\u0000"}`,
      ],
      [String.raw`E'{"x":\n1}'`, String.raw`"{\"x\":\n1}"`, 'null', '{"x": 1}'],
      [`'"x"'`, String.raw`"\"x\""`, 'null', 'null'],
      ["'null'", '"null"', 'null', 'null'],
    ],
  ),
  column(
    'jsonb',
    ['string', 'array', 'object'],
    [
      [
        String.raw`'{"b":{"c":[1,null,{"d":"é\u0041"}]},"a":12345678901234567890123456789.50,"a":1.50}'`,
        String.raw`"{\"a\": 1.50, \"b\": {\"c\": [1, null, {\"d\": \"éA\"}]}}"`,
        'null',
        '{"a": 1.50, "b": {"c": [1, null, {"d": "éA"}]}}',
      ],
      [
        "'[12345678901234567890123456789.5]'",
        '"[12345678901234567890123456789.5]"',
        '[12345678901234567890123456789.5]',
        'null',
      ],
      ["'true'", '"true"', 'null', 'null'],
    ],
  ),

  column('integer[]', arrays, [
    ["'{1,NULL,3}'", '"{1,NULL,3}"', '[1,null,3]'],
    ["'{{1,2},{3,4}}'", '"{{1,2},{3,4}}"', '[[1,2],[3,4]]'],
    ["'{}'", '"{}"', '[]'],
    ["'[0:1]={5,6}'", '"[0:1]={5,6}"', '[5,6]'],
  ]),
  column('bigint[]', arrays, [["'{9007199254740993}'", '"{9007199254740993}"', '[9007199254740993]']]),
  column('numeric[]', arrays, [["'{1.50,NaN}'", '"{1.50,NaN}"', '[1.50,null]']]),
  column('double precision[]', arrays, [
    [
      "'{5e-324,NaN,Infinity,-Infinity,-0}'",
      '"{5e-324,NaN,Infinity,-Infinity,-0}"',
      '[5e-324,null,null,null,-0]',
    ],
    ["'{{NaN,1},{2,Infinity}}'", '"{{NaN,1},{2,Infinity}}"', '[[null,1],[2,null]]'],
  ]),
  column('percent[]', arrays, [["'{5,NaN}'", '"{5,NaN}"', '[5,null]']]),
  column('small_share[]', arrays, [["'{0.5,-Infinity}'", '"{0.5,-Infinity}"', '[0.5,null]']]),
  column('text[]', arrays, [
    [`'{"NaN","a b",NULL,""}'`, String.raw`"{NaN,\"a b\",NULL,\"\"}"`, '["NaN","a b",null,""]'],
  ]),
  column('boolean[]', arrays, [["'{t,f}'", '"{t,f}"', '[true,false]']]),
  column('date[]', arrays, [
    [
      `'{2024-02-29,infinity,"0044-03-15 BC",10000-01-01}'`,
      String.raw`"{2024-02-29,infinity,\"0044-03-15 BC\",10000-01-01}"`,
      '["2024-02-29",null,null,null]',
    ],
  ]),
  column('timestamp[]', arrays, [
    [
      `'{"2024-02-29 12:30:00.5",-infinity}'`,
      String.raw`"{\"2024-02-29 12:30:00.5\",-infinity}"`,
      '["2024-02-29T12:30:00.5",null]',
    ],
  ]),
  column('timestamptz[]', arrays, [
    [
      `'{"2024-02-29 12:30:00+00",infinity}'`,
      String.raw`"{\"2024-02-29 12:30:00+00\",infinity}"`,
      '["2024-02-29T12:30:00+00:00",null]',
    ],
  ]),
  column('uuid[]', arrays, [
    [
      "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'",
      '"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"',
      '["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]',
    ],
  ]),
  column('mood[]', arrays, [
    [`'{sad,"very glad"}'`, String.raw`"{sad,\"very glad\"}"`, '["sad","very glad"]'],
  ]),
  column('bytea[]', arrays, [
    [String.raw`array['\x00ff'::bytea]`, String.raw`"{\"\\\\x00ff\"}"`, String.raw`["\\x00ff"]`],
  ]),
  column('json[]', arrays, [
    [`array['{"a":1}', '[2]']::json[]`, String.raw`"{\"{\\\"a\\\":1}\",[2]}"`, '[{"a":1},[2]]'],
  ]),
  column('pair[]', arrays, [
    ["array[row(1, 'x')::pair, null]", String.raw`"{\"(1,x)\",NULL}"`, '[{"n":1,"t":"x"},null]'],
  ]),
  column('hstore[]', arrays, [
    [`array['a=>1'::hstore]`, String.raw`"{\"\\\"a\\\"=>\\\"1\\\"\"}"`, '[{"a": "1"}]'],
  ]),

  column(
    'pair',
    ['string', 'object'],
    [
      ["row(1, 'NaN')", '"(1,NaN)"', '{"n":1,"t":"NaN"}'],
      ['row(null, null)', '"(,)"', '{"n":null,"t":null}'],
    ],
  ),
  // What is inside an object is not declared: it is PostgreSQL's own JSON, in which what is no number is text.
  column(
    'reading',
    ['string', 'object'],
    [
      [
        String.raw`row('2024-02-29 12:30:00+00', 'NaN', E'{"k":\n1}')`,
        String.raw`"(\"2024-02-29 12:30:00+00\",NaN,\"{\"\"k\"\":\n1}\")"`,
        '{"at":"2024-02-29T12:30:00+00:00","v":"NaN","j":{"k": 1}}',
      ],
    ],
  ),
  column('percent', numbers, [
    ['5', '5', '5', '"5"'],
    ["'NaN'", 'null', 'null', '"NaN"'],
  ]),
  column('small_share', fraction, [
    ['0.5', '0.5', '"0.5"'],
    ["'-Infinity'", 'null', '"-Infinity"'],
  ]),
  column('birthday', ['date', 'string'], [["'2024-02-29'", '"2024-02-29"', '"2024-02-29"']]),
  column('ids', arrays, [["'{1,2}'", '"{1,2}"', '[1,2]']]),
  column('couple', ['string', 'object'], [["row(1, 'x')::pair", '"(1,x)"', '{"n":1,"t":"x"}']]),
  text('feeling', [["'sad'", '"sad"']]),

  text('int4range', [
    ["'[1,5]'", '"[1,6)"'],
    ["'empty'", '"empty"'],
  ]),
  text('numrange', [["'(1.5,)'", '"(1.5,)"']]),
  text('tstzrange', [
    ["'[2024-02-29 12:30:00+00,infinity)'", String.raw`"[\"2024-02-29 12:30:00+00\",infinity)"`],
  ]),
  text('int4multirange', [["'{[1,3),[5,8)}'", '"{[1,3),[5,8)}"']], 140_000),
  text('bytea', [
    [String.raw`'\x00ff'`, String.raw`"\\x00ff"`],
    ["''", String.raw`"\\x"`],
  ]),
  text('inet', [
    ["'192.168.0.1'", '"192.168.0.1"'],
    ["'192.168.0.1/24'", '"192.168.0.1/24"'],
    ["'::1'", '"::1"'],
  ]),
  text('cidr', [["'10.0.0.0/8'", '"10.0.0.0/8"']]),
  text('macaddr', [["'08-00-2B-01-02-03'", '"08:00:2b:01:02:03"']]),
  text('macaddr8', [["'08:00:2b:01:02:03:04:05'", '"08:00:2b:01:02:03:04:05"']]),
  text('bit(3)', [["B'101'", '"101"']]),
  text('bit varying(5)', [["B'10'", '"10"']]),
  text('xml', [[`'<a b="c">é &amp; ü</a>'`, String.raw`"<a b=\"c\">é &amp; ü</a>"`]]),
  text('tsvector', [["'fat:2 rat:3A'", `"'fat':2 'rat':3A"`]]),
  text('tsquery', [["'fat & !rat'", `"'fat' & !'rat'"`]]),
  text('point', [["'(1,2.5)'", '"(1,2.5)"']]),
  text('line', [["'{1,-1,0}'", '"{1,-1,0}"']]),
  text('lseg', [["'[(0,0),(1,1)]'", '"[(0,0),(1,1)]"']]),
  text('box', [["'(0,0),(1,1)'", '"(1,1),(0,0)"']]),
  text('path', [["'[(0,0),(1,1)]'", '"[(0,0),(1,1)]"']]),
  text('polygon', [["'((0,0),(1,1),(1,0))'", '"((0,0),(1,1),(1,0))"']]),
  text('circle', [["'<(0,0),1>'", '"<(0,0),1>"']]),
  text('hstore', [["'a=>1, b=>NULL'", String.raw`"\"a\"=>\"1\", \"b\"=>NULL"`]]),
  text('pg_lsn', [["'16/B374D848'", '"16/B374D848"']]),
  text('regclass', [["'pg_class'", '"pg_class"']]),
  text('jsonpath', [["'$.a'", String.raw`"$.\"a\""`]]),
];

/** What no column of a table is, but a query may yield. */
export const EXPRESSIONS: readonly ColumnCase[] = [
  text('unknown', [["'x'", '"x"']]),
  text('void', [['nothing()', '""']]),
  column(
    'record',
    ['string', 'object'],
    [
      [
        `row(1, 'x'::text, E'{"k":\\n1}'::json)`,
        String.raw`"(1,x,\"{\"\"k\"\":\n1}\")"`,
        '{"f1":1,"f2":"x","f3":{"k": 1}}',
      ],
    ],
  ),
  column('record[]', arrays, [
    ["array[row(1, 'x'::text)]", String.raw`"{\"(1,x)\"}"`, '[{"f1":1,"f2":"x"}]'],
  ]),
];
