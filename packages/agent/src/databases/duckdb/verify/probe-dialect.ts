import type { FunctionRule } from '../../sql/probes/probe-texts.ts';
import type { ProbeDialect } from '../../sql/probes/value-probes.ts';
import { lexicon } from '../engine/lexicon.ts';

const DOCUMENT = "'{}'";
const MOMENT = "timestamp '2000-01-01'";
const ZONED = "timestamptz '2000-01-01 00:00:00+00'";
const searching: FunctionRule = { args: ["''", "'x'", "'c'"] };
const reading: FunctionRule = { args: [DOCUMENT, "'$'"] };
const ofPart: FunctionRule = { args: ["'day'", MOMENT] };
const parsing: FunctionRule = { args: ["''", "'%Y'"], as: 'try_strptime' };
const matching = { right: (pattern: string) => `'' ~ ${pattern}` };
const arrow = {
  left: (document: string) => `${document}::json -> '$'`,
  right: (path: string) => `${DOCUMENT}::json -> (${path})`,
};

/** Functions of DuckDB that refuse a text or a number for what it is. */
export const probeDialect: Omit<ProbeDialect, 'placeholder'> = {
  lexicon,
  isPositional: false,
  select: (expression) => `select ${expression}`,
  rules: {
    hasOthers: true,
    guards: ['if', 'try'],
    functions: {
      regexp_matches: searching,
      regexp_full_match: searching,
      regexp_split_to_array: searching,
      regexp_split_to_table: { ...searching, as: 'regexp_split_to_array' },
      string_split_regex: searching,
      str_split_regex: searching,
      regexp_replace: { args: ["''", "'x'", "''", "'g'"] },
      regexp_extract: { args: ["''", "'x'", '0', "'c'"] },
      regexp_extract_all: { args: ["''", "'x'", '0', "'c'"] },
      strptime: parsing,
      try_strptime: parsing,
      strftime: { args: [MOMENT, "'%Y'"] },
      date_trunc: ofPart,
      datetrunc: ofPart,
      date_part: ofPart,
      datepart: ofPart,
      date_diff: { args: ["'day'", MOMENT] },
      datediff: { args: ["'day'", MOMENT] },
      date_sub: { args: ["'day'", MOMENT] },
      datesub: { args: ["'day'", MOMENT] },
      timezone: { args: ["'UTC'", ZONED] },
      time_bucket: { args: ["interval '1 day'", MOMENT] },
      json: { args: [DOCUMENT] },
      json_array_length: reading,
      json_extract: reading,
      json_extract_path: reading,
      json_extract_path_text: reading,
      json_extract_string: reading,
      json_value: reading,
      json_exists: reading,
      json_keys: reading,
      json_type: reading,
      json_contains: { args: [DOCUMENT] },
      json_merge_patch: { args: [DOCUMENT] },
      json_structure: { args: [DOCUMENT] },
      json_transform: { args: [DOCUMENT] },
      json_transform_strict: { args: [DOCUMENT] },
      from_json: { args: [DOCUMENT] },
      from_json_strict: { args: [DOCUMENT] },
      json_each: { ...reading, as: 'json_extract' },
      json_tree: { ...reading, as: 'json_extract' },
      quantile: { args: ['1', '0.5'] },
      quantile_cont: { args: ['1', '0.5'] },
      quantile_disc: { args: ['1', '0.5'] },
      ntile: { args: ['1'], behind: ' over ()' },
    },
    operators: {
      '~': matching,
      '!~': matching,
      'similar to': { right: (pattern) => `'' similar to ${pattern}` },
      'at time zone': { right: (zone) => `${ZONED} at time zone ${zone}` },
      '->': arrow,
      '->>': arrow,
      limit: { right: (count) => `1 limit ${count}` },
      offset: { right: (count) => `1 limit 1 offset ${count}` },
    },
  },
};
