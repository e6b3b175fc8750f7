import { CAPABILITY_PATH_PREFIX } from '@svc/protocol';
import { isRecord } from '../../capabilities/is-record.ts';
import type { CapabilityContract, Contract, FieldContract, ParamContract } from '../contract.ts';
import { readValue } from './read-value.ts';

type Json = Readonly<Record<string, unknown>>;

const ENVELOPE = new Set(['rows', 'count', 'truncated']);

/** Reads the description that a gateway serves, or one that an agent makes; undefined where it is something else. */
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

function readParams(body: Json): ReadonlyMap<string, ParamContract> {
  const required = body['required'];
  return new Map(
    Object.entries(recordAt(body, 'properties')).map(([name, schema]) => {
      const read = isRecord(schema) ? schema : {};
      const value: ParamContract = {
        isRequired: Array.isArray(required) && required.includes(name),
        description: textAt(read, 'description'),
        defaultJson: 'default' in read ? JSON.stringify(read['default']) : undefined,
        value: readValue(read).value,
      };
      return [name, value] as const;
    }),
  );
}

function readFields(properties: Json): ReadonlyMap<string, FieldContract> {
  return new Map(
    Object.entries(properties).map(([name, schema]) => {
      const read = isRecord(schema) ? schema : {};
      const { value, isNullable } = readValue(read);
      return [name, { isNullable, description: textAt(read, 'description'), value }] as const;
    }),
  );
}

function readErrorCodes(schemas: Json): Contract['errorCodes'] {
  return Object.fromEntries(
    Object.keys(schemas).map((name) => {
      const codes = recordAt(schemas, name, 'properties', 'error', 'properties', 'code')['enum'];
      return [name, Array.isArray(codes) ? codes.map(String) : []] as const;
    }),
  );
}

function schemaIn(part: Json): Json {
  return recordAt(part, 'content', 'application/json', 'schema');
}

/** Empty where there is none. */
function recordAt(root: Json, ...path: readonly string[]): Json {
  let value: unknown = root;
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isRecord(value) ? value : {};
}

function textAt(record: Json, key: string): string {
  const value = record[key];
  return typeof value === 'string' ? value : '';
}
