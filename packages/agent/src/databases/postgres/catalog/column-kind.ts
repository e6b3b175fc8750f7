import type { ColumnKind } from '../../driver/catalog.ts';

export interface BaseType {
  readonly base: string;
  readonly base_schema: string;
  readonly is_domain: boolean;
  /** `typtype` and `typcategory`. */
  readonly form: string;
  readonly category: string;
  /** -1 where there is none. */
  readonly modifier: number;
}

function kindsOf(lists: readonly (readonly [ColumnKind, string])[]): ReadonlyMap<string, ColumnKind> {
  return new Map(lists.flatMap(([kind, list]) => list.split(' ').map((name) => [name, kind] as const)));
}

const BUILT_IN = kindsOf([
  ['integer', 'int2 int4 int8'],
  ['number', 'float4 float8'],
  ['text', 'text varchar bpchar name'],
  ['boolean', 'bool'],
  ['date', 'date'],
  ['datetime', 'timestamp timestamptz'],
  ['uuid', 'uuid'],
  ['json', 'json jsonb'],
  ['address', 'inet macaddr macaddr8'],
  ['opaque', 'bytea tsvector tsquery'],
]);
/** Types that extensions bring, in a schema of the user's choice. */
const OF_EXTENSIONS = kindsOf([
  ['text', 'citext'],
  ['opaque', 'geometry geography raster vector halfvec sparsevec'],
]);
/** A modifier counts the four bytes of a length. */
const HEADER = 4;
const SCALE_BITS = 0x7ff;

export function kindOfColumn({
  base,
  base_schema,
  is_domain,
  form,
  category,
  modifier,
}: BaseType): ColumnKind {
  // A domain over an enum cannot be compared with what callers send.
  if (form === 'e') return is_domain ? 'other' : 'enum';
  if (form === 'c') return 'object';
  if (base_schema !== 'pg_catalog') return OF_EXTENSIONS.get(base) ?? 'other';
  if (category === 'A') return 'array';
  if (base === 'numeric') {
    const isWhole = modifier >= HEADER && ((modifier - HEADER) & SCALE_BITS) === 0;
    return isWhole ? 'integer' : 'number';
  }
  return BUILT_IN.get(base) ?? 'other';
}

/** Texts that no cursor of a page keeps. */
export const WITHOUT_CURSOR: ReadonlySet<string> = new Set(['name', 'citext']);

export function maxLengthOf({ base, base_schema, modifier }: BaseType): number | undefined {
  const isBounded = base_schema === 'pg_catalog' && (base === 'varchar' || base === 'bpchar');
  return isBounded && modifier > HEADER ? modifier - HEADER : undefined;
}

/** As the server writes `= any (array['a'::text, 'b'::text])` of a column, or of VALUE in a domain. */
const LIST =
  /^CHECK \(\(+("(?:[^"]|"")+"|[\w$]+)\)?(?:::[a-z ]+)? = ANY \(+ARRAY\[(.*?)\](?:\)?::[a-z ]+\[\])?\)+(?: NOT VALID)?$/s;
const ITEM = /'((?:[^']|'')*)'::[a-z ]+(?:\([0-9]+\))?(?:::[a-z ]+)?(?:, |$)/gy;
/** As the server writes `jsonb_typeof(tags) = 'array'`; of a constraint that holds for every row. */
const JSON_KIND = /^CHECK \(\(jsonb?_typeof\((?:"(?:[^"]|"")+"|[\w$]+)\) = '(array|object)'::text\)\)$/;

/** The values that a CHECK lets a text column have; undefined if it says something else. */
export function checkedValues(definition: string): readonly string[] | undefined {
  const items = LIST.exec(definition)?.[2];
  if (items === undefined) return undefined;
  const values: string[] = [];
  let end = 0;
  for (const match of items.matchAll(ITEM)) {
    values.push((match[1] ?? '').replaceAll("''", "'"));
    end = match.index + match[0].length;
  }
  return end === items.length && values.length > 0 ? values : undefined;
}

/** The one kind of JSON that a CHECK allows; undefined if it says something else. */
export function checkedJsonKind(definition: string): 'array' | 'object' | undefined {
  const kind = JSON_KIND.exec(definition)?.[1];
  return kind === 'array' || kind === 'object' ? kind : undefined;
}
