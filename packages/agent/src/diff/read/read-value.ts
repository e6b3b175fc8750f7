import { isRecord } from '../../capabilities/is-record.ts';
import type { Bound, ValueContract } from '../contract.ts';

type Json = Readonly<Record<string, unknown>>;

const NUMBERS = ['multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const;
/** Of texts that the capability file has types of their own for. */
const TYPES_BY_FORMAT: ReadonlyMap<unknown, string> = new Map([
  ['date', 'date'],
  ['date-time', 'datetime'],
  ['uuid', 'uuid'],
]);
/** Read elsewhere, or without a meaning for values. */
const NOT_OTHERS = new Set<string>([
  ...NUMBERS,
  'default',
  'description',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'items',
  'maximum',
  'minimum',
  'pattern',
  'title',
  'type',
]);

/** Reads the JSON Schema of a parameter, of a field or of items. */
export function readValue(schema: Json): { readonly value: ValueContract; readonly isNullable: boolean } {
  const { type: written, format, items, pattern, enum: allowed } = schema;
  const types: readonly unknown[] = Array.isArray(written) ? written : [written];
  const known = types.filter((type) => type !== 'null');
  const base = known.length === 1 && typeof known[0] === 'string' ? known[0] : JSON.stringify(known);
  const type = (base === 'string' ? TYPES_BY_FORMAT.get(format) : undefined) ?? base;
  const lower = boundOf(schema, type, 'minimum', 'exclusiveMinimum');
  const upper = boundOf(schema, type, 'maximum', 'exclusiveMaximum');
  const value: ValueContract = {
    type,
    ...(lower === undefined ? {} : { lower }),
    ...(upper === undefined ? {} : { upper }),
    ...Object.fromEntries(
      NUMBERS.flatMap((name) => (typeof schema[name] === 'number' ? [[name, schema[name]]] : [])),
    ),
    ...(typeof pattern === 'string' ? { pattern } : {}),
    ...(typeof format === 'string' && type === base ? { format } : {}),
    ...(Array.isArray(allowed)
      ? { enum: allowed.filter((one) => one !== null).map((one) => JSON.stringify(one)) }
      : {}),
    ...(isRecord(items) && Object.keys(items).length > 0 ? { items: readValue(items).value } : {}),
    others: Object.fromEntries(
      Object.entries(schema).flatMap(([name, rule]) =>
        NOT_OTHERS.has(name) ? [] : [[name, JSON.stringify(rule)]],
      ),
    ),
  };
  return { value, isNullable: types.includes('null') };
}

/** A description has one bound a side. Those of whole numbers become inclusive. ±(2^53-1), which earlier agents gave to every number, does not count as one. */
function boundOf(
  schema: Json,
  type: string,
  inclusiveName: 'minimum' | 'maximum',
  exclusiveName: 'exclusiveMinimum' | 'exclusiveMaximum',
): Bound | undefined {
  const isExclusive = typeof schema[exclusiveName] === 'number';
  const written = schema[isExclusive ? exclusiveName : inclusiveName];
  if (typeof written !== 'number') return undefined;
  if (type !== 'integer') return beyondWhole(written) ? undefined : { value: written, isExclusive };
  const isUpper = inclusiveName === 'maximum';
  const inside = isUpper ? Math.floor(written) : Math.ceil(written);
  const value = isExclusive && inside === written ? inside + (isUpper ? -1 : 1) : inside;
  return beyondWhole(value) ? undefined : { value, isExclusive: false };
}

function beyondWhole(value: number): boolean {
  return Math.abs(value) >= Number.MAX_SAFE_INTEGER;
}
