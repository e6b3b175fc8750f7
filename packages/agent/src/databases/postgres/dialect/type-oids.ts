/** PostgreSQL's own types, by their oids. */
export const OID = {
  bool: 16,
  char: 18,
  name: 19,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  money: 790,
  inet: 869,
  bpchar: 1042,
  varchar: 1043,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  timetz: 1266,
  numeric: 1700,
  record: 2249,
  uuid: 2950,
  jsonb: 3802,
};

/** Everything below this is PostgreSQL's own: its names say nothing of a user's schema. */
export const FIRST_USER_OID = 16_384;

const { int8, int2, int4, oid, float4, float8, json, jsonb } = OID;
export const INTEGERS: ReadonlySet<number> = new Set([int8, int2, int4, oid]);
export const FLOATS: ReadonlySet<number> = new Set([float4, float8]);
export const JSON_TYPES: ReadonlySet<number> = new Set([json, jsonb]);
