import { DEFAULT_DRIVER } from '../../packages/agent/src/databases/drivers.ts';
import { fileSchema } from '../../packages/agent/src/config/schema/file-schema.ts';
import { type JsonSchema } from '../../packages/agent/src/capabilities/json-schema.ts';
import { isRecord } from '../../packages/agent/src/capabilities/is-record.ts';
import { code, table } from './markdown.ts';

export interface Field {
  /** Dotted, with `<name>` where the user chooses one. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

/** Names for the entries of mappings whose keys the user chooses, and which part of the reference they are in. */
const ENTRY_NAMES: Readonly<Record<string, string>> = {
  capabilities: '<name>',
  params: '<param>',
  result: '<field>',
};

/** Every key that a capability file can have, in the order of the schema that checks it. */
export const FILE_FIELDS: readonly Field[] = fieldsOf(fileSchema({ '': DEFAULT_DRIVER }), '').filter(
  // Each of them has the keys of `database`.
  ({ path }) => !path.startsWith('databases.'),
);

function fieldsOf(schema: JsonSchema, prefix: string): readonly Field[] {
  const { properties, required } = schema;
  if (!isRecord(properties)) return [];
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).flatMap(([name, inner]) => {
    if (!isRecord(inner)) return [];
    const path = `${prefix}${name}`;
    const entry = inner['additionalProperties'];
    const item = inner['items'];
    const entryPath = `${path}.${ENTRY_NAMES[name] ?? '<name>'}`;
    return [
      { path, schema: inner, required: names.includes(name) },
      ...fieldsOf(inner, `${path}.`),
      ...(isRecord(entry) ? fieldsOf(entry, `${entryPath}.`) : []),
      ...(isRecord(item) ? fieldsOf(item, `${path}[].`) : []),
    ];
  });
}

/** The fields below `section`, without those of deeper parts that have a table of their own. */
export function fieldTable(section: string, except: readonly string[] = []): string {
  const rows = FILE_FIELDS.filter(({ path }) => path === section || path.startsWith(`${section}.`))
    .filter(({ path }) => !except.some((other) => path.startsWith(`${other}.`)))
    .map(({ path, schema, required }) => [
      code(path),
      typeOf(schema),
      acceptedBy(schema),
      required ? '**required**' : standardOf(schema),
      shown(schema['description'] ?? ''),
    ]);
  return table(['Key', 'Type', 'Accepted', 'When absent', 'Meaning'], rows);
}

function typeOf({ type, pattern }: JsonSchema): string {
  if (Array.isArray(type)) return type.includes('array') ? 'text or list' : 'size';
  if (typeof pattern === 'string' && pattern.includes('ms')) return 'duration';
  switch (type) {
    case 'object':
      return 'mapping';
    case 'array':
      return 'list';
    case 'string':
      return 'text';
    case undefined:
      return 'any';
    default:
      return String(type);
  }
}

function acceptedBy(schema: JsonSchema): string {
  const { enum: allowed, minimum, maximum, exclusiveMinimum, minLength, minItems, minProperties } = schema;
  const parts: string[] = [];
  if (Array.isArray(allowed)) parts.push(allowed.map((value) => code(shown(value))).join(', '));
  if (minimum !== undefined) parts.push(`from ${shown(minimum)}`);
  if (maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER) parts.push(`to ${shown(maximum)}`);
  if (exclusiveMinimum !== undefined) parts.push(`above ${shown(exclusiveMinimum)}`);
  if (minLength !== undefined) parts.push('not empty');
  if (minItems !== undefined) parts.push(`at least ${shown(minItems)} item`);
  if (minProperties !== undefined) parts.push(`at least ${shown(minProperties)} entry`);
  const { propertyNames } = schema;
  if (isRecord(propertyNames)) parts.push(`names: ${code(shown(propertyNames['pattern']))}`);
  const { pattern, errorMessage } = schema;
  if (typeof pattern === 'string' && typeof errorMessage === 'string' && allowed === undefined) {
    const example = /such as (.*)$/.exec(errorMessage)?.[1];
    if (example !== undefined) parts.push(`e.g. ${example}`);
  }
  return parts.join(' ');
}

function standardOf(schema: JsonSchema): string {
  const standard = schema['default'];
  return standard === undefined ? '' : code(shown(standard));
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
