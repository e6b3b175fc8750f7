import { DEFAULT_DRIVER } from '../../databases/drivers.ts';
import { UNNAMED } from '../../capabilities/database-names.ts';
import type { JsonSchema } from '../../capabilities/json-schema.ts';
import { anyDatabaseSection, fileSchema } from './file-schema.ts';
import { REFERENCE_PATTERN } from '../yaml/interpolate.ts';
import { isRecord } from '../../capabilities/is-record.ts';

/**
 * The schema of the file as editors need it, before `${NAME}` is replaced: a text with such a
 * reference is accepted wherever a number, a boolean or a text of a certain form is.
 */
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
  switch (keyword) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(value).map(([name, schema]) => [
          name,
          isRecord(schema) ? withReferences(schema) : schema,
        ]),
      );
    case 'additionalProperties':
    case 'items':
      return withReferences(value);
    default:
      return value;
  }
}

/** Plain text takes one as it is; mappings and lists never do. */
function takesReference({ type, pattern, enum: names }: JsonSchema): boolean {
  if (type === 'string') return pattern !== undefined || names !== undefined;
  return type === 'integer' || type === 'number' || type === 'boolean' || Array.isArray(type);
}
