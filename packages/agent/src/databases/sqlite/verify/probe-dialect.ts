import type { FunctionRule } from '../../sql/probes/probe-texts.ts';
import type { ProbeDialect } from '../../sql/probes/value-probes.ts';
import { each } from '../../sql/words.ts';
import { lexicon } from './lexicon.ts';
import { rowCount } from './rewrite-statement.ts';

const DOCUMENT = "'{}'";
const PATH = "'$'";
const reading: FunctionRule = { args: [DOCUMENT, PATH] };
const changing: FunctionRule = { args: [DOCUMENT, PATH, 'null'] };
const percentile: FunctionRule = { args: ['1', '0.5'] };
const arrow = {
  left: (document: string) => `(${document}) -> ${PATH}`,
  right: (path: string) => `${DOCUMENT} -> (${path})`,
};

/** Functions of SQLite that refuse a text or a number for what it is. */
export const probeDialect: ProbeDialect = {
  lexicon,
  isPositional: false,
  placeholder: (number) => `?${number}`,
  select: (expression) => `select ${expression}`,
  rules: {
    hasOthers: true,
    guards: ['if', 'iif'],
    functions: {
      ...each('json jsonb json_patch jsonb_patch', { args: [DOCUMENT] }),
      json_pretty: { args: [DOCUMENT, "''"] },
      ...each('json_array_length json_extract jsonb_extract json_type json_remove jsonb_remove', reading),
      ...each('json_set jsonb_set json_insert jsonb_insert json_replace jsonb_replace', changing),
      // Table functions refuse the same arguments as this function.
      ...each('json_each json_tree', { ...reading, as: 'json_type' }),
      like: { args: ["''", "''", "'\\'"] },
      unistr: { args: ["''"] },
      ...each('ntile nth_value', { args: ['1'], behind: ' over ()' }),
      ...each('percentile percentile_cont percentile_disc', percentile),
    },
    operators: {
      '->': arrow,
      '->>': arrow,
      limit: { right: (count) => `1 limit ${rowCount('limit', `(${count})`)}` },
      offset: { right: (count) => `1 limit 1 offset ${rowCount('offset', `(${count})`)}` },
    },
  },
};
