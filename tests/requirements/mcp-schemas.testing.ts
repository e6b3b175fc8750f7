import * as core from '@modelcontextprotocol/core';
import * as sdk from '@modelcontextprotocol/sdk/types.js';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';

export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const NEWEST = '2026-07-28';
export type Revision = (typeof LEGACY)[number] | typeof NEWEST;
/** Newest first, as the gateway lists them. */
export const REVISIONS: readonly Revision[] = [NEWEST, ...LEGACY.toReversed()];

type Check = (value: unknown) => string | undefined;

/**
 * Throws unless the answer to `method` is what the official schemas of the revision allow: the JSON Schema, and
 * the zod schemas of the official package of its era. An array is the answer to a batch; `method` then has the
 * methods of its answers. Gives the answer back.
 */
export function validated(revision: Revision, method: string | readonly string[], json: unknown): unknown {
  if (Array.isArray(json)) {
    if (json.length === 0) throw new Error('an empty array answers nothing');
    if (revision === '2025-03-26' && json.every((entry) => isRecord(entry) && 'id' in entry)) {
      assertValid(revision, 'JSONRPCBatchResponse', schemaOf(revision, 'JSONRPCBatchResponse')(json), json);
    }
    json.forEach((entry, at) => validateMessage(revision, method[at] ?? '', entry));
    return json;
  }
  validateMessage(revision, typeof method === 'string' ? method : '', json);
  return json;
}

function validateMessage(revision: Revision, method: string, message: unknown): void {
  if (!isRecord(message)) throw new Error(`no JSON-RPC answer: ${JSON.stringify(message)}`);
  const extra = Object.keys(message).filter((key) => !['jsonrpc', 'id', 'result', 'error'].includes(key));
  if (extra.length > 0 || 'result' in message === 'error' in message)
    throw new Error(`neither result nor error: ${JSON.stringify(message)}`);
  if ('error' in message) validateError(revision, message);
  else validateResult(revision, method, message);
}

function validateError(asked: Revision, message: Readonly<Record<string, unknown>>): void {
  // The revisions before 2025-11-25 have no form for an error whose request has no readable id.
  const revision = 'id' in message || asked === NEWEST ? asked : '2025-11-25';
  const envelope = isRevisionWithOldNames(revision) ? 'JSONRPCError' : 'JSONRPCErrorResponse';
  assertValid(revision, envelope, schemaOf(revision, envelope)(message), message);
  const { JSONRPCErrorResponseSchema } = revision === NEWEST ? core : sdk;
  assertValid(revision, 'zod', zodFault(JSONRPCErrorResponseSchema, withSafeId(message)), message);
  if (revision !== NEWEST || !isRecord(message['error'])) return;
  const code = Number(message['error']['code']);
  const whole = { '-32020': 'HeaderMismatchError', '-32022': 'UnsupportedProtocolVersionError' }[code];
  if (whole !== undefined) assertValid(revision, whole, schemaOf(revision, whole)(message), message);
  const inner = {
    '-32700': 'ParseError',
    '-32600': 'InvalidRequestError',
    '-32601': 'MethodNotFoundError',
    '-32602': 'InvalidParamsError',
    '-32603': 'InternalError',
  }[code];
  if (inner !== undefined)
    assertValid(revision, inner, schemaOf(revision, inner)(message['error']), message['error']);
  if (whole === undefined && inner === undefined) throw new Error(`the code ${code} means nothing`);
}

function validateResult(
  revision: Revision,
  method: string,
  message: Readonly<Record<string, unknown>>,
): void {
  const envelope = isRevisionWithOldNames(revision) ? 'JSONRPCResponse' : 'JSONRPCResultResponse';
  assertValid(revision, envelope, schemaOf(revision, envelope)(message), message);
  const zod = revision === NEWEST ? core : sdk;
  assertValid(revision, 'zod', zodFault(zod.JSONRPCResultResponseSchema, withSafeId(message)), message);
  const result = message['result'];
  const [name, schema] = resultSchemaOf(method);
  assertValid(revision, name, schemaOf(revision, name)(result), result);
  assertValid(revision, `zod ${name}`, zodFault(schema(revision), result), result);
}

/** The packages take no id beyond what a double can count; the protocol has no such bound. */
function withSafeId(message: Readonly<Record<string, unknown>>): unknown {
  const { id } = message;
  return typeof id === 'number' && Number.isInteger(id) && !Number.isSafeInteger(id)
    ? { ...message, id: 0 }
    : message;
}

interface Zod {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: { readonly message: string } };
}

function resultSchemaOf(method: string): readonly [name: string, schema: (revision: Revision) => Zod] {
  const of = (revision: Revision): typeof core | typeof sdk => (revision === NEWEST ? core : sdk);
  switch (method) {
    case 'initialize':
      return ['InitializeResult', () => sdk.InitializeResultSchema];
    case 'ping':
      return ['EmptyResult', () => sdk.EmptyResultSchema];
    case 'server/discover':
      return ['DiscoverResult', () => core.DiscoverResultSchema];
    case 'tools/list':
      return ['ListToolsResult', (revision) => of(revision).ListToolsResultSchema];
    case 'tools/call':
      return ['CallToolResult', (revision) => of(revision).CallToolResultSchema];
    default:
      throw new Error(`${method} must not have a result`);
  }
}

function zodFault(schema: Zod, value: unknown): string | undefined {
  const { success, error } = schema.safeParse(value);
  return success ? undefined : (error?.message ?? 'refused');
}

const compiled = new Map<string, Check>();

/** The official JSON Schemas, reduced to what can be reached from the answers of a tools-only server. */
function schemaOf(revision: Revision, definition: string): Check {
  const id = `${revision} ${definition}`;
  const known = compiled.get(id);
  if (known !== undefined) return known;
  const file = new URL(`mcp-schemas/${revision}.json`, import.meta.url);
  const schema: Readonly<Record<string, unknown>> = JSON.parse(readFileSync(file, 'utf8'));
  const options = { strict: false, allErrors: true };
  const old = 'definitions' in schema;
  const ajv = old ? new Ajv(options) : new Ajv2020(options);
  ajvFormats.default(ajv);
  const place = old ? 'definitions' : '$defs';
  if (!Object.hasOwn(Object(schema[place]), definition)) throw new Error(`${revision} has no ${definition}`);
  const validate: ValidateFunction = ajv.compile({ ...schema, $ref: `#/${place}/${definition}` });
  const check: Check = (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors));
  compiled.set(id, check);
  return check;
}

function assertValid(revision: Revision, name: string, fault: string | undefined, value: unknown): void {
  if (fault === undefined) return;
  throw new Error(`not valid by ${name} of ${revision}: ${fault}\n${JSON.stringify(value).slice(0, 2000)}`);
}

function isRevisionWithOldNames(revision: Revision): boolean {
  return revision === '2024-11-05' || revision === '2025-03-26' || revision === '2025-06-18';
}

export function isRevision(value: unknown): value is Revision {
  return REVISIONS.some((revision) => revision === value);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
