import type { ParamSchema } from '../../../../capabilities/model.ts';
import type { ServerType } from '../../execute/prepared-query.ts';
import { sqlTypeOf } from '../../execute/bind-values.ts';
import { OID } from '../../dialect/type-oids.ts';

/** Declared types are bound so if the server takes them. */
const DECLARED: Readonly<Record<Exclude<ParamSchema['type'], 'array'>, number>> = {
  integer: OID.int8,
  number: OID.numeric,
  string: OID.text,
  boolean: OID.bool,
  date: OID.date,
  datetime: OID.timestamptz,
  uuid: OID.uuid,
  object: OID.jsonb,
};

/** Whether each value of the server's type stands for a value of the declared one. */
export function fits(schema: ParamSchema, type: ServerType): boolean {
  if (schema.type === 'array') return type.isArray && fitsScalar(itemsOf(schema), type);
  return !type.isArray && fitsScalar(schema, type);
}

export function isDeclaredType(schema: ParamSchema, { base, title, sql }: ServerType): boolean {
  const scalar = schema.type === 'array' ? itemsOf(schema) : schema;
  const own = title !== undefined && sql.startsWith('pg_catalog.');
  return own && scalar.type !== 'array' && DECLARED[scalar.type] === base;
}

function itemsOf(schema: ParamSchema): ParamSchema {
  return schema.items ?? { type: 'string' };
}

function fitsScalar(schema: ParamSchema, type: ServerType): boolean {
  const { base } = type;
  switch (schema.type) {
    case 'integer':
      return [OID.int2, OID.int4, OID.int8, OID.oid, OID.numeric, OID.float8, OID.money].includes(base);
    case 'number':
      // Not money, which would round what it is given.
      return [OID.numeric, OID.float4, OID.float8].includes(base);
    case 'string':
      return fitsString(type);
    case 'boolean':
      return base === OID.bool;
    case 'date':
      return [OID.date, OID.timestamp, OID.timestamptz].includes(base);
    case 'datetime':
      return [OID.timestamp, OID.timestamptz].includes(base);
    case 'uuid':
      return base === OID.uuid || isText(type);
    case 'object':
      return [OID.json, OID.jsonb].includes(base);
    case 'array':
      return false;
  }
}

/**
 * A string stands for types with a text form and no declared type of their own, and for numbers with more digits than
 * JSON has.
 */
function fitsString(type: ServerType): boolean {
  const { base, form, category } = type;
  if (!['b', 'e', 'r', 'm'].includes(form)) return false;
  switch (category) {
    case 'N':
      return [OID.int8, OID.numeric, OID.money].includes(base);
    case 'D':
      return [OID.time, OID.timetz].includes(base);
    case 'B':
    case 'Z':
      return false;
    default:
      return base !== OID.char;
  }
}

function isText({ base, category }: ServerType): boolean {
  return category === 'S' && base !== OID.char;
}

/**
 * Whether text is compared differently as this type, as with char(n) and citext. As `text` the server would cast the
 * column, without its index and its own equality.
 */
export function comparesItsOwnWay(type: ServerType): boolean {
  return isText(type) && ![OID.text, OID.varchar, OID.name].includes(type.base);
}

/** What is tried if the declared type is refused and the server cannot tell, or names another. */
export function secondChoice(schema: ParamSchema): ServerType | undefined {
  const scalar = schema.type === 'array' ? itemsOf(schema) : schema;
  const isArray = schema.type === 'array';
  const name = (scalarName: string): string => `pg_catalog.${isArray ? '_' : ''}${scalarName}`;
  const common = { isArray, isDomain: false, form: 'b', labels: [] };
  if (scalar.type === 'integer')
    return { ...common, sql: name('int4'), base: OID.int4, category: 'N', title: 'integer' };
  if (scalar.type === 'datetime') {
    const title = 'timestamp without time zone';
    return { ...common, sql: name('timestamp'), base: OID.timestamp, category: 'D', title };
  }
  return undefined;
}

/**
 * The casts of each place of one parameter, given the type that each place takes besides the declared one; `any` takes
 * every type. A string is bound as the one type that all places take, so that the planner sees its value, but not as a
 * domain, which may refuse the nulls at the start. Other values are first read as declared, which keeps an offset or a
 * decimal point meaning what it means everywhere.
 */
export function castsOf(
  schema: ParamSchema,
  places: readonly (ServerType | 'any' | undefined)[],
): readonly (readonly string[])[] {
  const declared = sqlTypeOf(schema);
  const scalar = schema.type === 'array' ? itemsOf(schema) : schema;
  const wanted = places.filter((place) => typeof place === 'object');
  const [only] = wanted;
  const isAlike = !places.includes(undefined) && wanted.every((type) => type.sql === only?.sql);
  if (scalar.type === 'string' && isAlike && only?.isDomain === false) return places.map(() => [only.sql]);
  return places.map((place) => (typeof place === 'object' ? [declared, place.sql] : [declared]));
}

const RANGES: ReadonlyMap<number, readonly [low: number, high: number]> = new Map([
  [OID.int2, [-32_768, 32_767]],
  [OID.int4, [-2_147_483_648, 2_147_483_647]],
  [OID.oid, [0, 4_294_967_295]],
]);

/** The declared schema with the range of an integer type, or the labels of an enum. */
export function narrowed(schema: ParamSchema, type: ServerType): ParamSchema {
  if (schema.type === 'array') {
    return schema.items === undefined ? schema : { ...schema, items: narrowed(schema.items, type) };
  }
  const range = schema.type === 'integer' ? RANGES.get(type.base) : undefined;
  if (range !== undefined) {
    const [low, high] = range;
    const minimum = Math.max(schema.minimum ?? low, low);
    return { ...schema, minimum, maximum: Math.min(schema.maximum ?? high, high) };
  }
  // A declared enum may be narrower.
  if (type.labels.length === 0 || schema.enum !== undefined || schema.type !== 'string') return schema;
  return { ...schema, enum: type.labels };
}

/** What to say if no whole number fits both the declared bounds and the type. */
export function emptyRange(schema: ParamSchema, type: ServerType): string | undefined {
  const scalar = schema.type === 'array' ? itemsOf(schema) : schema;
  const range = scalar.type === 'integer' ? RANGES.get(type.base) : undefined;
  if (range === undefined) return undefined;
  const [low, high] = range;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = scalar;
  const bound =
    (minimum !== undefined && minimum > high && `minimum: ${minimum}`) ||
    (exclusiveMinimum !== undefined && exclusiveMinimum >= high && `exclusiveMinimum: ${exclusiveMinimum}`) ||
    (maximum !== undefined && maximum < low && `maximum: ${maximum}`) ||
    (exclusiveMaximum !== undefined && exclusiveMaximum <= low && `exclusiveMaximum: ${exclusiveMaximum}`);
  if (bound === false) return undefined;
  const taken = type.title?.replace(/\[\]$/, '') ?? 'a type of the database';
  return `has ${bound}, but the SQL takes it as ${taken}, from ${low} to ${high}: no value fits both, so change one of them`;
}
