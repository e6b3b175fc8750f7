import { words } from '../../sql/words.ts';

/**
 * Functions of SQLite that only read, lower case. Left out is what loads code, tells the state of the connection, or
 * belongs to a virtual table.
 */
const knownFunctions: ReadonlySet<string> = words(`
  -> ->> abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood likely lower ltrim
  max min nullif octet_length printf quote random randomblob replace round rtrim sign soundex substr substring trim typeof
  unhex unicode unistr unistr_quote unlikely upper zeroblob
  acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power
  radians sin sinh sqrt tan tanh trunc
  avg count group_concat median percentile percentile_cont percentile_disc string_agg sum total
  cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
  current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch
  json json_array json_array_insert json_array_length json_error_position json_extract json_group_array
  json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set json_type
  json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert
  jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set
`);

/** Functions whose answer may differ for the same arguments. */
export const changingFunctions: ReadonlySet<string> = words('random randomblob');

/** Functions that run foreign code, open or write files, or write to the log: no capability file may allow them. */
const forbiddenFunctions: ReadonlySet<string> = words(`
  load_extension fts3_tokenizer sqlite_attach sqlite_detach sqlite_log readfile writefile edit eval
`);

/** Table functions that read nothing but their arguments. */
export const knownTableFunctions: ReadonlySet<string> = words('json_each json_tree');

/** What is wrong with a function that is called, by its name in lower case. */
export function problemOfFunction(name: string, allowed: readonly string[]): string | undefined {
  if (forbiddenFunctions.has(name)) {
    return `calls ${name}, which does more than read and is never allowed: remove it`;
  }
  if (knownFunctions.has(name) || allowed.includes(name)) return undefined;
  return `calls ${name}, which is not known to only read: remove it, or, if it only reads, add it to allow_functions`;
}
