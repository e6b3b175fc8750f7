import { CAPABILITY_PATH_PREFIX } from '@svc/protocol';
import { isRecord } from '../../capabilities/is-record.ts';
import { TEXT_FORMATS, type Capability } from '../../capabilities/model.ts';
import { describeCapabilities } from '../../capabilities/openapi/describe-capabilities.ts';
import type { Offer } from '../../config/load.ts';
import type {
  Bound,
  CapabilityContract,
  CapabilityTerms,
  Contract,
  FieldContract,
  Named,
  ParamContract,
  ValueContract,
} from '../contract.ts';

type Json = Readonly<Record<string, unknown>>;

const ENVELOPE = new Set(['rows', 'count', 'truncated']);
const NUMBERS = ['multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const;
/** The formats for which the capability file has types of their own. */
const TYPES_BY_FORMAT: ReadonlyMap<unknown, string> = new Map(
  Object.entries(TEXT_FORMATS).map(([type, format]) => [format, type]),
);
/** Keywords that are read elsewhere, or that say nothing about values. */
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

/** Reads the description that a gateway serves or an agent makes; undefined for anything else. */
export function readOpenApi(document: unknown): Contract | undefined {
  if (!isRecord(document) || typeof document['openapi'] !== 'string' || !isRecord(document['paths']))
    return undefined;
  const info = recordAt(document, 'info');
  return {
    title: textAt(info, 'title'),
    version: textAt(info, 'version'),
    description: textAt(info, 'description'),
    capabilities: new Map(
      Object.entries(document['paths']).flatMap(([path, item]) =>
        path.startsWith(CAPABILITY_PATH_PREFIX) && isRecord(item)
          ? [[path.slice(CAPABILITY_PATH_PREFIX.length), readOperation(recordAt(item, 'post'))] as const]
          : [],
      ),
    ),
    errorCodes: readErrorCodes(recordAt(document, 'components', 'schemas')),
  };
}

/** Reads a capability file as callers see it once it is served. Hidden capabilities are included: they can be called. */
export function contractOfOffer(offer: Omit<Offer, 'drivers'>): Contract {
  const { service, serviceId, capabilities, identity } = offer;
  const { openapi } = describeCapabilities({
    service,
    capabilities: capabilities.map((capability) => ({ ...capability, exposeInOpenapi: true })),
    ...(identity === undefined ? {} : { identity: {} }),
  });
  const contract = readOpenApi(openapi);
  if (contract === undefined) throw new Error('the description of the capabilities is no OpenAPI document');
  return {
    ...contract,
    capabilities: new Map(
      capabilities.flatMap((capability) => {
        const described = contract.capabilities.get(capability.name);
        return described === undefined
          ? []
          : [[capability.name, { ...described, file: termsOf(capability) }] as const];
      }),
    ),
    file: { ...(serviceId === undefined ? {} : { serviceId }), identity },
  };
}

function termsOf(capability: Capability): CapabilityTerms {
  const { limits, exposeInOpenapi, params, sql, allowFunctions, allowForeignTables } = capability;
  const needs = [...new Set(params.flatMap(({ from }) => from ?? []))];
  const filters = params.flatMap(({ name, filter }) =>
    filter === undefined ? [] : [[name, filter.sql] as const],
  );
  const orders = (capability.clauses?.orders ?? []).map(
    ({ name, terms }) => [name, JSON.stringify(terms)] as const,
  );
  return {
    isHidden: !exposeInOpenapi,
    ...limits,
    needs,
    sql,
    filters: new Map(filters),
    orders: new Map(orders),
    allowFunctions,
    allowForeignTables,
  };
}

function readOperation(operation: Json): CapabilityContract {
  const body = schemaIn(recordAt(operation, 'requestBody'));
  const answer = recordAt(schemaIn(recordAt(operation, 'responses', '200')), 'properties');
  return {
    description: textAt(operation, 'description'),
    examplesJson: JSON.stringify(body['examples']),
    params: readParams(body),
    fields: readFields(recordAt(answer, 'rows', 'items', 'properties')),
    extras: new Map(Object.entries(answer).filter(([name]) => !ENVELOPE.has(name))),
  };
}

function readParams(body: Json): Named<ParamContract> {
  const required = body['required'];
  return new Map(
    Object.entries(recordAt(body, 'properties')).map(([name, schema]) => {
      const read = isRecord(schema) ? schema : {};
      const isRequired = Array.isArray(required) && required.includes(name);
      const defaultJson = JSON.stringify(read['default']);
      const description = textAt(read, 'description');
      return [name, { isRequired, description, defaultJson, value: readValue(read).value }] as const;
    }),
  );
}

function readFields(properties: Json): Named<FieldContract> {
  return new Map(
    Object.entries(properties).map(([name, schema]) => {
      const read = isRecord(schema) ? schema : {};
      const { value, isNullable } = readValue(read);
      return [name, { isNullable, description: textAt(read, 'description'), value }] as const;
    }),
  );
}

/** Reads the JSON Schema of a parameter, of a field or of items. */
function readValue(schema: Json): { readonly value: ValueContract; readonly isNullable: boolean } {
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

/**
 * A description has one lower and one upper bound. Bounds of integers become inclusive. ±(2^53-1) does not count as one:
 * earlier agents gave it to every number.
 */
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

/** The code of each error schema is an enum of what a status can have. */
function readErrorCodes(schemas: Json): ReadonlySet<string> {
  const enums = Object.keys(schemas).map(
    (name) => recordAt(schemas, name, 'properties', 'error', 'properties', 'code')['enum'],
  );
  return new Set(enums.flatMap((codes) => (Array.isArray(codes) ? codes.map(String) : [])));
}

function schemaIn(part: Json): Json {
  return recordAt(part, 'content', 'application/json', 'schema');
}

function recordAt(root: Json, ...path: readonly string[]): Json {
  let value: unknown = root;
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isRecord(value) ? value : {};
}

function textAt(record: Json, key: string): string {
  const value = record[key];
  return typeof value === 'string' ? value : '';
}
