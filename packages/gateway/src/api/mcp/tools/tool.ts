import type { Sliced } from '@svc/edge';
import { printJsonInSlices, type Description } from '@svc/protocol';
import { exposedOperations } from '../../../catalog/visible-operations.ts';
import { isObject } from '../protocol/message.ts';

export interface Tool {
  readonly name: string;
  /** As `tools/list` gives it. */
  readonly json: string;
}

/** True of every capability: it only reads, and reaches one database. */
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
      inputSchema: input,
      outputSchema: outputSchemas ? output : undefined,
      annotations: ANNOTATIONS,
    };
    const pieces: Buffer[] = [];
    let text = '';
    const add = (more: string): void => {
      text += more;
      if (text.length < PIECE_CHARACTERS) return;
      pieces.push(Buffer.from(text));
      text = '';
    };
    yield* printObject(membersOf(tool), (key) => WAYS[key] ?? printAsIs, add);
    tools.push({ name, json: Buffer.concat([...pieces, Buffer.from(text)]).toString() });
  }
  return tools;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return found;
}

/** A string that grows to megabytes by small parts takes much more memory than its characters. */
const PIECE_CHARACTERS = 32_768;

type Add = (text: string) => void;
/** Prints a value of a description, which may be as long as the whole, in slices. */
type Print = (value: unknown, add: Add) => Sliced<void>;
type Member = readonly [key: string, value: unknown];

const WAYS: Readonly<Record<string, Print>> = { inputSchema: printInput, outputSchema: printOutput };

function printAsIs(value: unknown, add: Add): Sliced<void> {
  return printJsonInSlices(value, 0, add);
}

function* printObject(members: Iterable<Member>, wayOf: (key: string) => Print, add: Add): Sliced<void> {
  let separator = '{';
  for (const [key, value] of members) {
    if (value === undefined) continue;
    add(`${separator}${JSON.stringify(key)}:`);
    separator = ',';
    yield* wayOf(key)(value, add);
    yield;
  }
  add(separator === '{' ? '{}' : '}');
}

function* printArray(items: Iterable<unknown>, print: Print, add: Add): Sliced<void> {
  let separator = '[';
  for (const item of items) {
    add(separator);
    separator = ',';
    if (typeof item === 'object') yield* print(item, add);
    else add(JSON.stringify(item));
    yield;
  }
  add(separator === '[' ? '[]' : ']');
}

/** Without the title, which is for generated types: a tool has a title of its own. */
function printInput(schema: unknown, add: Add): Sliced<void> {
  const wayOf = (key: string): Print => (key === 'properties' ? printParameters : printAsIs);
  return printObject(membersOf(schema, ['title']), wayOf, add);
}

function printParameters(parameters: unknown, add: Add): Sliced<void> {
  return isObject(parameters)
    ? printObject(membersOf(parameters), () => printWithoutNull, add)
    : printAsIs(parameters, add);
}

/** Clients stumble over unions, and null means the same as a missing parameter. A model may still send it. */
function* printWithoutNull(schema: unknown, add: Add): Sliced<void> {
  const types = at(schema, 'type');
  if (!Array.isArray(types)) return yield* printAsIs(schema, add);
  const type: unknown = types.find((name) => name !== 'null');
  const values = at(schema, 'enum');
  const isNullable = Array.isArray(values) && values.includes(null);
  const wayOf = (key: string): Print => (key === 'enum' && isNullable ? printNotNull : printAsIs);
  const first: readonly Member[] = [
    ['type', type],
    ['enum', Array.isArray(values) ? values : undefined],
  ];
  yield* printObject(concat(first, membersOf(schema, ['type', 'enum'])), wayOf, add);
}

function printNotNull(values: unknown, add: Add): Sliced<void> {
  return printArray(notNull(values), printAsIs, add);
}

/** The gateway itself makes values of these formats, so they always hold. */
const KEPT_FORMATS: ReadonlySet<unknown> = new Set(['date', 'date-time']);

/** Without the formats of the capability file: nothing checks them, and the official SDKs refuse an answer for one misfit. */
function* printOutput(schema: unknown, add: Add): Sliced<void> {
  if (Array.isArray(schema)) yield* printArray(schema, printOutput, add);
  else if (isObject(schema)) {
    const { format } = schema;
    const isChecked = typeof format !== 'string' || KEPT_FORMATS.has(format);
    yield* printObject(membersOf(schema, isChecked ? [] : ['format']), () => printOutput, add);
  } else add(JSON.stringify(schema));
}

function* membersOf(object: unknown, except: readonly string[] = []): Iterable<Member> {
  if (!isObject(object)) return;
  for (const key of Object.keys(object)) if (!except.includes(key)) yield [key, object[key]];
}

function* notNull(values: unknown): Iterable<unknown> {
  if (Array.isArray(values)) for (const value of values) if (value !== null) yield value;
}

function* concat(...all: readonly Iterable<Member>[]): Iterable<Member> {
  for (const members of all) yield* members;
}
