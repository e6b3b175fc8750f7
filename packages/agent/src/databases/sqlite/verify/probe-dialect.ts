import type { FunctionRule } from '../../sql/probes/probe-texts.ts';
import type { ProbeDialect } from '../../sql/probes/value-probes.ts';
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
      json: { args: [DOCUMENT] },
      jsonb: { args: [DOCUMENT] },
      json_pretty: { args: [DOCUMENT, "''"] },
      json_array_length: reading,
      json_extract: reading,
      jsonb_extract: reading,
      json_type: reading,
      json_remove: reading,
      jsonb_remove: reading,
      json_set: changing,
      jsonb_set: changing,
      json_insert: changing,
      jsonb_insert: changing,
      json_replace: changing,
      jsonb_replace: changing,
      json_patch: { args: [DOCUMENT] },
      jsonb_patch: { args: [DOCUMENT] },
      // Tables, which refuse what a function of the same arguments refuses.
      json_each: { ...reading, as: 'json_type' },
      json_tree: { ...reading, as: 'json_type' },
      like: { args: ["''", "''", "'\\'"] },
      unistr: { args: ["''"] },
      ntile: { args: ['1'], behind: ' over ()' },
      nth_value: { args: ['1'], behind: ' over ()' },
      percentile,
      percentile_cont: percentile,
      percentile_disc: percentile,
    },
    operators: {
      '->': arrow,
      '->>': arrow,
      limit: { right: (count) => `1 limit ${rowCount('limit', `(${count})`)}` },
      offset: { right: (count) => `1 limit 1 offset ${rowCount('offset', `(${count})`)}` },
    },
  },
};
