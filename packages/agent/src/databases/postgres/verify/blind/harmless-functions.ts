/**
 * PostgreSQL's own functions that are not IMMUTABLE, but see nothing of who calls: the clock, the time zone, how dates
 * are written, and the output of types that cannot see it either. All versions of a name are meant.
 */
const HARMLESS = new Set(
  (
    'now transaction_timestamp statement_timestamp clock_timestamp to_timestamp date_trunc date_part extract timezone ' +
    'to_char to_date age concat concat_ws format array_to_string to_json to_jsonb row_to_json array_to_json ' +
    'json_build_array json_build_object jsonb_build_array jsonb_build_object json_agg jsonb_agg json_agg_strict ' +
    'jsonb_agg_strict json_object_agg jsonb_object_agg json_object_agg_strict jsonb_object_agg_strict ' +
    'json_object_agg_unique jsonb_object_agg_unique json_object_agg_unique_strict jsonb_object_agg_unique_strict'
  ).split(' '),
);

/**
 * Called IMMUTABLE, but the first runs the hash functions of whatever table its argument names, and the others look up a
 * conversion on the search path.
 */
const REACHES_OUT = new Set(['satisfies_hash_partition', 'convert', 'convert_from', 'convert_to']);

export function isHarmless(name: string): boolean {
  return HARMLESS.has(name);
}

export function reachesOut(name: string): boolean {
  return REACHES_OUT.has(name);
}

/** Keywords that stand for the clock. `current_user` and the like tell who is connected. */
export const CLOCK_KEYWORDS: ReadonlySet<string> = new Set(
  'CURRENT_DATE CURRENT_TIME CURRENT_TIME_N CURRENT_TIMESTAMP CURRENT_TIMESTAMP_N LOCALTIME LOCALTIME_N LOCALTIMESTAMP LOCALTIMESTAMP_N'
    .split(' ')
    .map((name) => `SVFOP_${name}`),
);

/** They look up a text-search configuration on the search path. */
export const TEXT_SEARCH_OPERATORS: ReadonlySet<string> = new Set(['@@', '@@@']);
