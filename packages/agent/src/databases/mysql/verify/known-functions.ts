import type { CalledFunction } from '../../sql/one-select.ts';
import { words } from '../../sql/words.ts';

/**
 * Functions of the servers that only read, lower case. Left out is what waits, locks, counts up, reads files, sets or
 * tells the state of the session, and what runs text as a program.
 */
export const knownFunctions: ReadonlySet<string> = words(`
  avg bit_and bit_or bit_xor count group_concat json_arrayagg json_objectagg max min std stddev stddev_pop stddev_samp sum
  var_pop var_samp variance any_value median percentile_cont percentile_disc
  cume_dist dense_rank first_value grouping lag last_value lead nth_value ntile percent_rank rank row_number
  coalesce greatest if ifnull isnull least nullif nvl nvl2
  abs acos asin atan atan2 ceil ceiling conv cos cot crc32 crc32c degrees exp floor ln log log10 log2 mod pi pow power
  radians rand round sign sin sqrt tan truncate
  ascii bin bit_count bit_length char char_length character_length chr concat concat_ws elt export_set field find_in_set
  format from_base64 hex instr lcase left length lengthb locate lower lpad ltrim make_set mid natural_sort_key oct
  octet_length ord position quote regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rpad
  rtrim sformat soundex space strcmp substr substring substring_index to_base64 to_char trim ucase unhex upper
  weight_string
  add_months adddate addtime convert_tz curdate current_date current_time current_timestamp curtime date date_add
  date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime get_format hour
  last_day localtime localtimestamp makedate maketime microsecond minute month monthname now period_add period_diff
  quarter sec_to_time second str_to_date subdate subtime sysdate time time_format time_to_sec timediff timestamp
  timestampadd timestampdiff to_days to_seconds unix_timestamp utc_date utc_time utc_timestamp week weekday weekofyear
  year yearweek
  json_array json_array_append json_array_insert json_array_intersect json_compact json_contains json_contains_path
  json_depth json_detailed json_equals json_exists json_extract json_insert json_key_value json_keys json_length
  json_loose json_merge_patch json_merge_preserve json_normalize json_object json_object_filter_keys
  json_object_to_array json_overlaps json_pretty json_query json_quote json_remove json_replace json_schema_valid
  json_schema_validation_report json_search json_set json_storage_size json_type json_unquote json_valid json_value
  md5 random_bytes sha sha1 sha2 aes_encrypt aes_decrypt compress uncompress uncompressed_length uuid uuid_to_bin
  bin_to_uuid is_uuid uuid_v4 uuid_v7 inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv4_compat is_ipv4_mapped
  is_ipv6
  binary cast convert charset coercibility collation database schema current_role current_user session_user system_user
  user version interval
  st_area st_asgeojson st_astext st_aswkb st_aswkt st_centroid st_contains st_crosses st_disjoint st_distance
  st_distance_sphere st_equals st_geomfromgeojson st_geomfromtext st_geomfromwkb st_intersects st_isempty st_isvalid
  st_latitude st_length st_longitude st_overlaps st_simplify st_srid st_touches st_within st_x st_y point mbrcontains
  mbrintersects mbrwithin
  datetime nchar json any some against columns array vec_distance vec_distance_euclidean vec_distance_cosine
`);

/** Functions whose answer may differ for the same arguments. */
export const changingFunctions: ReadonlySet<string> = words('rand random_bytes sysdate uuid uuid_v4 uuid_v7');

/** Functions of the servers that do more than read, or whose answer is the session's: no file may allow them. */
export const forbiddenFunctions: ReadonlySet<string> = words(`
  sleep benchmark load_file get_lock release_lock release_all_locks is_free_lock is_used_lock last_insert_id nextval
  lastval setval master_pos_wait master_gtid_wait source_pos_wait wait_for_executed_gtid_set
  wait_until_sql_thread_after_gtids row_count found_rows connection_id name_const uuid_short sys_guid extractvalue
  updatexml encrypt des_encrypt des_decrypt old_password password validate_password_strength
`);

/** The functions that are called and are not known to only read, each once, as written. */
export function unknownFunctions(called: readonly CalledFunction[]): readonly string[] {
  // A quoted name, or one with a schema, is a stored function.
  const unknown = called.filter(
    ({ schema, name, isQuoted }) => schema !== undefined || isQuoted || !knownFunctions.has(name),
  );
  return [...new Set(unknown.map(({ schema, name }) => (schema === undefined ? name : `${schema}.${name}`)))];
}
