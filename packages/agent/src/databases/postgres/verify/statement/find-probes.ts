import { markLists } from '../../../sql/places/list-places.ts';
import { valueProbes, type ProbeDialect, type ValueProbe } from '../../../sql/probes/value-probes.ts';
import { scanSql, type Lexicon } from '../../../sql/scanner.ts';
import type { BoundParam } from '../../execute/prepared-query.ts';
import type { FunctionRule } from '../../../sql/probes/probe-texts.ts';

/** As much of PostgreSQL's lexicon as finds parameters. A statement that uses more has no probes. */
const lexicon: Lexicon = {
  name: 'PostgreSQL',
  quotes: { "'": { kind: 'text', hasEscapes: false }, '"': { kind: 'name', hasEscapes: false } },
  lineComments: [{ start: '--', needsSpace: false }],
  activeComments: [],
  operators: '+-*/%=<>!&|^~@#(),.;[]',
  colons: /::|:=|:(?![A-Za-z_])/y,
  variables: [],
};

const MOMENT = "timestamptz '2000-01-01 00:00:00+00'";
const search: FunctionRule = { args: ["'simple'", "''"] };
const pattern: FunctionRule = { args: ["''", "''", "''"] };
const ofPart: FunctionRule = { args: ["'day'", MOMENT] };
const parsing: FunctionRule = { args: ["'2000'", "'YYYY'"] };
const none: FunctionRule = { args: [] };
/** What their arguments are shows only in the whole call. */
const WITHOUT_SAMPLES =
  'ts_rewrite make_date make_time make_timestamp make_timestamptz make_interval chr generate_series numrange ' +
  'int4range int8range daterange tsrange tstzrange text2ltree';
const matching = { right: (operand: string) => `'' ~ ${operand}` };

/** Functions and operators that refuse a text or a number for what it is. */
const probeDialect: Omit<ProbeDialect, 'placeholder'> = {
  lexicon,
  isPositional: false,
  // Counted, so that it is computed, and only one row is sent.
  select: (expression) =>
    expression.startsWith('1 ')
      ? `select ${expression}`
      : `select count(a) from (select ${expression} as a limit 1) q`,
  rules: {
    hasOthers: false,
    guards: [],
    functions: {
      ...Object.fromEntries(WITHOUT_SAMPLES.split(' ').map((name) => [name, none])),
      to_tsquery: search,
      regexp_match: { args: ["''", "''", "''"] },
      regexp_matches: pattern,
      regexp_replace: { args: ["''", "''", "''", "''"] },
      regexp_split_to_array: pattern,
      regexp_split_to_table: pattern,
      regexp_like: pattern,
      regexp_count: { args: ["''", "''", '1', "''"] },
      regexp_instr: { args: ["''", "''", '1', '1', '0', "''"] },
      regexp_substr: { args: ["''", "''", '1', '1', "''"] },
      xpath: { args: ["'/a'", "'<a/>'", "'{}'::text[]"] },
      xpath_exists: { args: ["'/a'", "'<a/>'", "'{}'::text[]"] },
      to_date: parsing,
      to_timestamp: parsing,
      to_number: { args: ["'1'", "'9'"] },
      to_char: { args: [MOMENT, "'YYYY'"] },
      date_trunc: { args: ["'day'", MOMENT, "'UTC'"] },
      date_part: ofPart,
      timezone: { args: ["'UTC'", MOMENT] },
      encode: { args: ["''::bytea", "'hex'"] },
      decode: { args: ["''", "'hex'"] },
      convert_to: { args: ["''", "'UTF8'"] },
      convert_from: { args: ["''::bytea", "'UTF8'"] },
      format: { args: ["''"] },
      split_part: { args: ["''", "''", '1'] },
      substring: { args: ["''", '1', '1'] },
      overlay: { args: ["''", "''", '1', '1'] },
      ntile: { args: ['1'], behind: ' over ()' },
      nth_value: { args: ['1', '1'], behind: ' over ()' },
      jsonb_path_query: { args: ["'{}'::jsonb", "'$'"] },
      jsonb_path_query_array: { args: ["'{}'::jsonb", "'$'"] },
      jsonb_path_query_first: { args: ["'{}'::jsonb", "'$'"] },
      jsonb_path_exists: { args: ["'{}'::jsonb", "'$'"] },
      jsonb_path_match: { args: ["'{}'::jsonb", "'$ == 1'"] },
    },
    operators: {
      '~': matching,
      '~*': matching,
      '!~': matching,
      '!~*': matching,
      'similar to': { right: (operand) => `'' similar to ${operand}` },
      'at time zone': { right: (zone) => `${MOMENT} at time zone ${zone}` },
      limit: { right: (count) => `1 limit ${count}` },
      offset: { right: (count) => `1 offset ${count}` },
    },
  },
};

/** Statements that tell the values of parameters from the data. `references` are the names that the parser has found. */
export function findProbes(
  sql: string,
  references: readonly string[],
  params: readonly BoundParam[],
): readonly ValueProbe[] {
  const scanned = scanSql(sql, probeDialect.lexicon);
  if (!scanned.ok) return [];
  const tokens = scanned.tokens.filter(({ kind }) => kind !== 'comment');
  const names = tokens.filter(({ kind }) => kind === 'parameter').map(({ text }) => text.slice(1));
  // The scanner reads it in another way than the server.
  if (names.join() !== references.join()) return [];
  const own = params.map(({ param }) => param);
  const marked = markLists(own, tokens, { params: own });
  return valueProbes(sql, tokens, marked, {
    ...probeDialect,
    placeholder(number, param) {
      const [cast] = params.find((each) => each.param.name === param.name)?.casts ?? [];
      return cast === undefined ? `$${number}` : `($${number}::${cast})`;
    },
  });
}
