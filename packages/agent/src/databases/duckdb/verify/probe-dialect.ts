import type { FunctionRule } from '../../sql/probes/probe-texts.ts';
import type { ProbeDialect } from '../../sql/probes/value-probes.ts';
import { each } from '../../sql/words.ts';
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
      ...each(
        `regexp_matches regexp_full_match regexp_split_to_array string_split_regex str_split_regex`,
        searching,
      ),
      regexp_split_to_table: { ...searching, as: 'regexp_split_to_array' },
      regexp_replace: { args: ["''", "'x'", "''", "'g'"] },
      ...each('regexp_extract regexp_extract_all', { args: ["''", "'x'", '0', "'c'"] }),
      ...each('strptime try_strptime', parsing),
      strftime: { args: [MOMENT, "'%Y'"] },
      ...each('date_trunc datetrunc date_part datepart', ofPart),
      ...each('date_diff datediff date_sub datesub', { args: ["'day'", MOMENT] }),
      timezone: { args: ["'UTC'", ZONED] },
      time_bucket: { args: ["interval '1 day'", MOMENT] },
      ...each(
        `json json_contains json_merge_patch json_structure json_transform json_transform_strict from_json
        from_json_strict`,
        { args: [DOCUMENT] },
      ),
      ...each(
        `json_array_length json_extract json_extract_path json_extract_path_text json_extract_string
        json_value json_exists json_keys json_type`,
        reading,
      ),
      ...each('json_each json_tree', { ...reading, as: 'json_extract' }),
      ...each('quantile quantile_cont quantile_disc', { args: ['1', '0.5'] }),
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
