import type { Sliced } from '@svc/edge';
import { printJsonInSlices, type Description } from '@svc/protocol';
import { exposedOperations } from '../../../catalog/visible-operations.ts';
import { isObject } from '../protocol/message.ts';

export interface Tool {
  readonly name: string;
  /** As `tools/list` gives it. */
  readonly json: string;
}

/** True of every capability: the service is read-only, and one database is all it reaches. */
const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** The tools of a description, in its order; those of hidden capabilities are not in it. */
export function* toolsOf(description: Description, outputSchemas: boolean): Sliced<readonly Tool[]> {
  const tools: Tool[] = [];
  for (const { name, item } of yield* exposedOperations(description)) {
    const operation = at(item, 'post');
    const input = at(operation, 'requestBody', 'content', 'application/json', 'schema');
    const output = at(operation, 'responses', '200', 'content', 'application/json', 'schema');
    yield;
    if (!isObject(input)) continue;
    const tool = {
      name,
      title: at(operation, 'summary'),
      description: at(operation, 'description'),
      inputSchema: inputSchema(input),
      outputSchema: outputSchemas ? outputSchema(output) : undefined,
      annotations: ANNOTATIONS,
    };
    let json = '';
    // Each parameter by itself.
    yield* printJsonInSlices(tool, 3, (text) => void (json += text));
    tools.push({ name, json });
  }
  return tools;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return found;
}

/** Formats that hold for every value, since what leaves is made by them. */
const KEPT_FORMATS: ReadonlySet<unknown> = new Set(['date', 'date-time']);

/**
 * Without the formats that the capability file gives fields: nobody checks them, and clients of the official SDKs refuse a
 * whole answer for one value that has another.
 */
function outputSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(outputSchema);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, rule]) => keyword !== 'format' || typeof rule !== 'string' || KEPT_FORMATS.has(rule))
      .map(([keyword, rule]) => [keyword, outputSchema(rule)]),
  );
}

/** Without the title that is for generated types, since a tool has one of its own. */
function inputSchema({ title: _title, ...schema }: Readonly<Record<string, unknown>>): unknown {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const parameters = Object.entries(properties).map(([name, parameter]) => [name, withoutNull(parameter)]);
  return { ...schema, properties: Object.fromEntries(parameters) };
}

/**
 * Clients stumble over unions, and null says no more than leaving the parameter out. It is taken all the same when
 * a model sends it.
 */
function withoutNull(schema: unknown): unknown {
  if (!isObject(schema) || !Array.isArray(schema['type'])) return schema;
  const { type, enum: values, ...rules } = schema;
  const only: unknown = type.find((name) => name !== 'null');
  const allowed = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
  return { type: only, ...allowed, ...rules };
}
