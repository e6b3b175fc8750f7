import { JSON_DEPTH_MAX, JsonError, parseStrictJson, rawMember, type CallErrorCode } from '@svc/protocol';

/** JSON-RPC 2.0, section 5.1, and those that revision 2026-07-28 adds. */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  unsupportedProtocolVersion: -32022,
} as const;

/** A request that JSON-RPC answers with an error; `message` is public. */
export class RpcError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: unknown;
  readonly logCode: CallErrorCode;
  constructor(
    code: number,
    message: string,
    options: { readonly status?: number; readonly data?: unknown; readonly logCode?: CallErrorCode } = {},
  ) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.status = options.status ?? 200;
    this.data = options.data;
    this.logCode = options.logCode ?? 'GATEWAY_INVALID_REQUEST';
  }
}

const OPEN_BRACE = 0x7b;

/** The JSON of a message or of a batch. Throws RpcError (400, -32700). */
export function parseJson(body: Buffer): unknown {
  // The arguments may be as deep as over REST; around them are params, the message and perhaps a batch.
  const around = body[0] !== OPEN_BRACE && /^\s*\[/.test(body.toString('latin1', 0, 16)) ? 3 : 2;
  try {
    return parseStrictJson(body, JSON_DEPTH_MAX + around);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badRequest(RPC.parseError, `the body is refused: ${error.message}`);
  }
}

export interface Message {
  /** The id as JSON; undefined for a notification. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The whole message, as it was sent. */
  readonly raw: Buffer;
}

/** `value` is the parsed `raw`. Throws RpcError (400, -32600) when it is no JSON-RPC 2.0 request or notification of MCP. */
export function readMessage(value: unknown, raw: Buffer): Message {
  if (!isObject(value)) throw invalid('a message is a JSON object');
  if (value['jsonrpc'] !== '2.0') throw invalid('jsonrpc must be "2.0"');
  const { method, params } = value;
  if (typeof method !== 'string') throw invalid('method must be a string; responses are not expected here');
  if (Object.hasOwn(value, 'id') && !isId(value['id'])) throw invalid('id must be a string or an integer');
  const id = idOf(value, raw);
  if (isObject(params)) return { id, method, params, raw };
  // Some clients write null for parameters that they leave out. A cancellation is never refused.
  const isMissing = params === undefined || params === null;
  const isCancellation = id === undefined && method === 'notifications/cancelled';
  if (!isMissing && !isCancellation) throw invalid('params must be an object');
  return { id, method, params: {}, raw };
}

/** The id, as JSON, of what may be no message; undefined when it has none. */
export function idOf(value: unknown, raw: Buffer): string | undefined {
  return isObject(value) ? idText(value['id'], raw, 'id') : undefined;
}

/** The id of the request that `notifications/cancelled` names, as `idOf` returns it. */
export function cancelledIdOf({ params, raw }: Message): string | undefined {
  return idText(params['requestId'], raw, 'params', 'requestId');
}

function idText(id: unknown, raw: Buffer, ...path: readonly string[]): string | undefined {
  if (!isId(id)) return undefined;
  // Parsing has lost digits of integers beyond 2^53.
  return typeof id === 'string' || Number.isSafeInteger(id)
    ? JSON.stringify(id)
    : rawMember(raw, ...path)?.toString();
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value));
}

/** Also refused by HTTP. */
export function badRequest(code: number, message: string, data?: unknown): RpcError {
  return new RpcError(code, message, { status: 400, data });
}

function invalid(message: string): RpcError {
  return badRequest(RPC.invalidRequest, message);
}

/** The methods of all revisions, whether or not the gateway serves them. */
const METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
  'tasks/list',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
]);

/** The method as the log names it. Callers can write anything else, so that is not logged. */
export function loggedMethod(method: string): string {
  return METHODS.has(method) ? method : 'unknown';
}
