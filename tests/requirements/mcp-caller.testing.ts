import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { expect } from 'vitest';
import { askOnce } from './lone-gateway.testing.ts';
import { isRecord, isRevision, NEWEST, validated, type Revision } from './mcp-schemas.testing.ts';
import type { RawAnswer } from './raw-http.testing.ts';

export interface McpAnswer extends RawAnswer {
  /** Undefined when the body is empty. */
  readonly json: unknown;
}

export interface McpOptions {
  /** The plaintext key; null for none. */
  readonly key?: string | null;
  /** A header that is undefined is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly path?: string;
  readonly id?: string | number;
  /** Of the header `MCP-Protocol-Version`; legacy requests have none by default. */
  readonly revision?: Revision;
  /** Laid over the `_meta` of a request of 2026-07-28; undefined leaves a field out. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Posts to `/mcp`. Every JSON-RPC answer is checked against the official schemas before it is handed out. */
export interface McpCaller {
  /** Text and bytes as they are, anything else as JSON. */
  post(body: unknown, options?: McpOptions): Promise<McpAnswer>;
  legacy(method: string, params?: unknown, options?: McpOptions): Promise<McpAnswer>;
  modern(method: string, params?: object, options?: McpOptions): Promise<McpAnswer>;
  /** All pages. */
  tools(options?: McpOptions): Promise<readonly Tool[]>;
  /** From now on the content of every result is checked against the schema of its tool, too. */
  learnTools(): Promise<void>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>>;
  readonly annotations: unknown;
}

export interface ToolList {
  readonly tools: readonly Tool[];
  readonly nextCursor?: string;
}

const META = 'io.modelcontextprotocol/';

export function createMcpCaller(port: number, apiKey: string): McpCaller {
  const outputs = new Map<string, ValidateFunction>();

  async function post(body: unknown, options: McpOptions = {}): Promise<McpAnswer> {
    const { key = apiKey, path = '/mcp', revision } = options;
    const credential = key === null ? {} : { Authorization: `Bearer ${key}` };
    const given = {
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': revision,
      ...credential,
      ...options.headers,
    };
    const headers = Object.fromEntries(
      Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const bytes = raw ? body : JSON.stringify(body);
    const answer = await askOnce(port, 'POST', path, { headers, body: bytes });
    const read = readAnswer(answer, raw ? parsed(String(body)) : body, headers['MCP-Protocol-Version']);
    checkOutput(body, read);
    return read;
  }

  function checkOutput(body: unknown, { json }: McpAnswer): void {
    if (!isRecord(body) || !isRecord(json) || !isRecord(json['result']) || !isRecord(body['params'])) return;
    const validate = outputs.get(String(body['params']['name']));
    const { structuredContent } = json['result'];
    if (validate === undefined || structuredContent === undefined) return;
    expect([validate(structuredContent), validate.errors]).toEqual([true, null]);
  }

  async function legacy(method: string, params?: unknown, options: McpOptions = {}): Promise<McpAnswer> {
    const { id = 1 } = options;
    const body = { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) };
    return await post(body, options);
  }

  async function tools(options?: McpOptions): Promise<readonly Tool[]> {
    const all: Tool[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await legacy('tools/list', cursor === undefined ? {} : { cursor }, options);
      const { result }: { readonly result: ToolList } = JSON.parse(body);
      all.push(...result.tools);
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    return all;
  }

  return {
    post,
    legacy,
    tools,
    async modern(method, params = {}, options = {}) {
      const body = modernRequest(method, params, options);
      const name = 'name' in params ? String(params.name) : undefined;
      const headers = {
        'MCP-Protocol-Version': NEWEST,
        'Mcp-Method': method,
        ...(method === 'tools/call' && name !== undefined ? { 'Mcp-Name': name } : {}),
        ...options.headers,
      };
      return await post(body, { ...options, headers });
    },
    async learnTools() {
      const ajv = strictAjv();
      for (const { name, outputSchema } of await tools()) outputs.set(name, ajv.compile(outputSchema));
    },
  };
}

/** The body of a request by the rules of 2026-07-28. */
export function modernRequest(
  method: string,
  params: object = {},
  { id = 1, meta = {} }: McpOptions = {},
): Readonly<Record<string, unknown>> {
  const given = { [`${META}protocolVersion`]: NEWEST, [`${META}clientCapabilities`]: {}, ...meta };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: given } };
}

/** As clients compile the schemas of tools. */
export function strictAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, multipleOfPrecision: 9 });
  ajvFormats.default(ajv);
  // A hint for generators; JSON has one kind of number.
  ajv.addFormat('double', true);
  return ajv;
}

function readAnswer(answer: RawAnswer, sent: unknown, header: string | undefined): McpAnswer {
  const { body } = answer;
  const sse = answer.header('content-type')?.startsWith('text/event-stream') === true;
  const [, data] = sse ? (/^event: message\ndata: ([^\r\n]*)\n\n$/.exec(body) ?? []) : [body, body];
  if (data === undefined) throw new Error(`not one message: ${JSON.stringify(body.slice(0, 500))}`);
  const json = data === '' ? undefined : parsed(data);
  if (isRecord(json) && !('jsonrpc' in json) && isRecord(json['error'])) return { ...answer, json };
  if (json === undefined) {
    if (data !== '') throw new Error(`not JSON: ${data.slice(0, 500)}`);
    return { ...answer, json };
  }
  validated(revisionOf(sent, header, json), methodsOf(sent, json), json);
  return { ...answer, json };
}

/** What each answer answers: those of a batch stand in the order of its requests. */
function methodsOf(sent: unknown, answer: unknown): string | readonly string[] {
  if (!Array.isArray(sent) || !Array.isArray(answer)) return isRecord(sent) ? nameOf(sent['method']) : '';
  const left: unknown[] = [...sent];
  return answer.map((entry: unknown) => {
    if (!isRecord(entry) || !('id' in entry)) return '';
    for (;;) {
      const request = left.shift();
      if (request === undefined) throw new Error(`an answer to nothing: ${JSON.stringify(entry)}`);
      if (isRecord(request) && request['id'] === entry['id']) return nameOf(request['method']);
    }
  });
}

/** Anything may stand there, also what cannot become a string. */
function nameOf(method: unknown): string {
  return typeof method === 'string' ? method : (JSON.stringify(method) ?? '');
}

/** That by whose rules the request must be answered. */
function revisionOf(sent: unknown, header: string | undefined, answer: unknown): Revision {
  const params = isRecord(sent) && isRecord(sent['params']) ? sent['params'] : {};
  const meta = isRecord(params['_meta']) ? params['_meta'][`${META}protocolVersion`] : undefined;
  if (meta !== undefined) return isRevision(meta) ? meta : NEWEST;
  const result = isRecord(answer) && isRecord(answer['result']) ? answer['result'] : {};
  if (isRevision(result['protocolVersion'])) return result['protocolVersion'];
  if (header === undefined) return '2025-03-26';
  return isRevision(header) ? header : NEWEST;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
