import type { FunctionRule } from '../../../sql/probes/probe-texts.ts';
import type { ProbeDialect } from '../../../sql/probes/value-probes.ts';
import { each } from '../../../sql/words.ts';
import { lexicon } from '../lexicon.ts';
import { placeholderFor } from '../places/text-places.ts';

const DOCUMENT = "'{}'";
const PATH = "'$.a'";
const LIST_PATH = "'$[0]'";
const reading: FunctionRule = { args: [DOCUMENT, PATH] };
const changing: FunctionRule = { args: [DOCUMENT, PATH, '1', PATH, '1', PATH, '1', PATH, '1'] };
const lists: FunctionRule = { args: ["'[]'", LIST_PATH, '1', LIST_PATH, '1', LIST_PATH, '1'] };
const documents: FunctionRule = { args: [DOCUMENT] };
const DATE = "'2000-01-01'";
const TIME = "'10:00:00'";
const days: FunctionRule = { args: [DATE, 'interval 1 day'] };
const times: FunctionRule = { args: [TIME] };
const matching = { right: (pattern: string) => `'' regexp ${pattern}` };

/** Functions of the servers that refuse a text or a number for what it is. */
export const probeDialectOf = (isMariaDb: boolean): ProbeDialect => ({
  lexicon,
  isPositional: true,
  placeholder: (_number, param, tokens, index) => (isMariaDb ? '?' : placeholderFor(tokens, index, param)),
  // For a NULL test, servers that see that nothing is null compute nothing.
  select: (expression) =>
    expression.startsWith('1 ') ? `select ${expression}` : `select left(concat(${expression}), 1)`,
  rules: {
    hasOthers: true,
    guards: ['if'],
    functions: {
      ...each('adddate date_add date_sub subdate', days),
      ...each('addtime subtime timediff', times),
      convert_tz: { args: [DATE, "'+00:00'"] },
      date_format: { args: [DATE, "'%Y'"] },
      datediff: { args: [DATE] },
      // In these functions it is one of several forms to try.
      str_to_date: { args: [DATE, "'%Y-%m-%d'"], alternatives: ['coalesce', 'ifnull', 'nvl'] },
      time_format: { args: [TIME, "'%H'"] },
      timestamp: { args: [DATE, TIME] },
      timestampadd: { args: ['day', '1', DATE] },
      timestampdiff: { args: ['day', DATE] },
      regexp_instr: { args: ["'a'", "'x'", '1', '1', '0', "'c'"] },
      regexp_like: { args: ["'a'", "'x'", "'c'"] },
      regexp_replace: { args: ["'a'", "'a'", "''", '1', '1', "'c'"] },
      regexp_substr: { args: ["'a'", "'x'", '1', '1', "'c'"] },
      ...each('json_array_append json_array_insert', lists),
      json_contains: { args: [DOCUMENT, DOCUMENT, PATH] },
      json_contains_path: { args: [DOCUMENT, "'one'", PATH] },
      ...each(
        `json_depth json_merge_patch json_merge_preserve json_overlaps json_pretty json_schema_valid
        json_type`,
        documents,
      ),
      ...each('json_extract json_keys json_length json_remove', reading),
      ...each('json_insert json_replace json_set', changing),
      json_search: { args: [DOCUMENT, "'one'", "'a'", 'null', PATH] },
      json_table: { args: [DOCUMENT, `'$' columns (a int path '$')`], as: '1 from json_table', behind: ' j' },
      json_unquote: { args: ['\'""\''] },
      period_add: { args: ['200001', '1'] },
      period_diff: { args: ['200001'] },
      to_char: { args: ["timestamp '2000-01-01 00:00:00'", "'YYYY'"] },
      ...each('ntile nth_value', { args: ['1'], behind: ' over ()' }),
      ...each('lag lead', { args: ['1'], behind: ' over (order by 1)' }),
    },
    operators: {
      regexp: matching,
      rlike: matching,
      limit: { right: (count) => `1 limit ${count}` },
      offset: { right: (count) => `1 limit 1 offset ${count}` },
    },
  },
});
