import { DEFAULT_DRIVER } from '../../databases/drivers.ts';
import { UNNAMED } from '../../capabilities/database-names.ts';
import type { JsonSchema } from '../../capabilities/json-schema.ts';
import { anyDatabaseSection, fileSchema } from './file-schema.ts';
import { REFERENCE_PATTERN } from '../yaml/interpolate.ts';
import { isRecord } from '../../capabilities/is-record.ts';

/** The schema for editors, which see `${NAME}`: such a text is accepted instead of a number, a boolean or a form of text. */
export function editorSchema(): JsonSchema {
  const { required: _required, properties, ...schema } = fileSchema({ [UNNAMED]: DEFAULT_DRIVER });
  const { databases, ...sections } = isRecord(properties) ? properties : {};
  const database = anyDatabaseSection();
  const several = { ...(isRecord(databases) ? databases : {}), additionalProperties: database };
  return {
    ...withReferences({ ...schema, properties: { ...sections, database, databases: several } }),
    required: ['gateway', 'capabilities'],
    oneOf: [{ required: ['database'] }, { required: ['databases'] }],
  };
}

function withReferences(schema: JsonSchema): JsonSchema {
  const inner: JsonSchema = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, withReferencesIn(keyword, value)]),
  );
  if (!takesReference(schema)) return inner;
  const { description, default: standard, ...rules } = inner;
  return {
    description,
    ...(standard === undefined ? {} : { default: standard }),
    anyOf: [rules, { type: 'string', pattern: REFERENCE_PATTERN }],
  };
}

function withReferencesIn(keyword: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  if (keyword === 'additionalProperties' || keyword === 'items') return withReferences(value);
  if (keyword !== 'properties') return value;
  const properties = Object.entries(value).map(([name, schema]) => [
    name,
    isRecord(schema) ? withReferences(schema) : schema,
  ]);
  return Object.fromEntries(properties);
}

/** Plain text takes a reference as it is; mappings and lists never take one. */
function takesReference({ type, pattern, enum: names }: JsonSchema): boolean {
  if (type === 'string') return pattern !== undefined || names !== undefined;
  return type === 'integer' || type === 'number' || type === 'boolean' || Array.isArray(type);
}
