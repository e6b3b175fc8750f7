import type { ListPlaces } from '../../sql/places/list-places.ts';

const FIRST = [0];

/** SQLite gets an array or an object as its JSON text. */
export const listPlaces: ListPlaces = {
  functions: {
    '->': FIRST,
    cast: FIRST,
    json: FIRST,
    json_array_insert: FIRST,
    json_array_length: FIRST,
    json_each: FIRST,
    json_error_position: FIRST,
    json_extract: FIRST,
    json_insert: FIRST,
    json_patch: [0, 1],
    json_pretty: FIRST,
    json_remove: FIRST,
    json_replace: FIRST,
    json_set: FIRST,
    json_tree: FIRST,
    json_type: FIRST,
    json_valid: FIRST,
    jsonb: FIRST,
    jsonb_extract: FIRST,
    jsonb_insert: FIRST,
    jsonb_patch: [0, 1],
    jsonb_remove: FIRST,
    jsonb_replace: FIRST,
    jsonb_set: FIRST,
  },
  arrayForm: `json_each(:p)`,
  objectForm: `json_extract(:p, '$.key')`,
};
