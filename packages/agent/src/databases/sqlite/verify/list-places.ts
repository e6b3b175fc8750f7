import type { ListPlaces } from '../../sql/places/list-places.ts';
import { each } from '../../sql/words.ts';

/** SQLite gets an array or an object as its JSON text. */
export const listPlaces: ListPlaces = {
  functions: {
    ...each(
      `-> cast json json_array_insert json_array_length json_each json_error_position json_extract json_insert json_pretty
    json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_extract jsonb_insert jsonb_remove
    jsonb_replace jsonb_set`,
      [0],
    ),
    ...each('json_patch jsonb_patch', [0, 1]),
  },
  arrayForm: `json_each(:p)`,
  objectForm: `json_extract(:p, '$.key')`,
};
