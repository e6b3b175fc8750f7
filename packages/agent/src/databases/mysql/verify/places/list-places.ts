import type { ListPlaces } from '../../../sql/places/list-places.ts';
import { each } from '../../../sql/words.ts';

/** MariaDB and MySQL get an array or an object as its JSON text. */
export const listPlaces: ListPlaces = {
  functions: {
    ...each(
      `cast convert isnull json_array_append json_array_insert json_compact json_contains_path json_depth json_detailed
      json_exists json_extract json_insert json_key_value json_keys json_length json_loose json_normalize
      json_object_to_array json_pretty json_query json_remove json_replace json_search json_set json_storage_size
      json_table json_type json_valid json_value`,
      [0],
    ),
    ...each(
      `json_array_intersect json_contains json_equals json_merge_patch json_merge_preserve json_object_filter_keys
      json_overlaps json_schema_valid json_schema_validation_report`,
      [0, 1],
    ),
  },
  arrayForm: `json_table(:p, '$[*]' columns (item varchar(100) path '$'))`,
  objectForm: `json_unquote(json_extract(:p, '$.key'))`,
};
