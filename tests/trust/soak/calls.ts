import { ask, pick, type Answer, type Service } from '@svc/testkit';

const ITEMS = 2000;
const LIST = 100;
/** `title` of a large item: some 1 MB of rows in all. */
const LARGE_ROWS = 250;
const LARGE_TEXT = 4000;
/** Each capability's time limit, in the file below. */
const TIMEOUT_MS = 4000;
/** And the 2 s that the gateway allows on top, and half a second for a slow machine. */
export const LATEST_MS: number = TIMEOUT_MS + 2000 + 500;

export const SQL: string = `
  create table item (id int primary key, label text not null);
  insert into item select i, 'item "' || i || '"' from generate_series(1, ${ITEMS}) i;
`;

const RESULT = 'result: { id: { type: integer }, label: { type: string } }';
export const CAPABILITIES: string = `
metrics: { addr: "127.0.0.1:0" }
defaults: { timeout: ${TIMEOUT_MS}ms }
capabilities:
  get_item:
    description: One item
    sql: select id, label from item where id = :id
    params: { id: { type: integer, required: true } }
    ${RESULT}
  list_items:
    description: A hundred items
    sql: select id, label from item where id > :after order by id limit ${LIST}
    params: { after: { type: integer, required: true } }
    ${RESULT}
  large_items:
    description: A megabyte
    sql: select id, repeat('x', ${LARGE_TEXT}) as label from item where id > :after order by id limit ${LARGE_ROWS}
    params: { after: { type: integer, required: true } }
    policy: { max_bytes: 2MB }
    ${RESULT}
  slow_item:
    description: One item, after a while
    sql: select item.id, item.label from pg_sleep(:seconds) join item on item.id = :id
    params: { id: { type: integer, required: true }, seconds: { type: number, required: true } }
    policy: { allow_functions: [pg_sleep] }
    ${RESULT}
`;
export const KEYS = { all: '*', some: 'get_item' } as const;
const TOOLS = ['get_item', 'list_items', 'large_items', 'slow_item'];

/** What became of a call: the answer that its request must have, an error that a fault may cause, or something else. */
export type Outcome =
  | { readonly kind: 'right' }
  | { readonly kind: 'failed'; readonly code: string }
  | { readonly kind: 'wrong'; readonly what: string };

const RIGHT: Outcome = { kind: 'right' };
/** What may be told while something is broken; 'lost' is a connection that ended, as when the gateway is killed. */
const MAY_FAIL: ReadonlySet<string> = new Set([
  'AGENT_BUSY',
  'AGENT_QUERY_FAILED',
  'AGENT_QUERY_TIMEOUT',
  'GATEWAY_AGENT_OFFLINE',
  'GATEWAY_AGENT_TIMEOUT',
]);

interface Kind {
  readonly name: string;
  readonly weight: number;
  readonly run: (service: Service, random: () => number) => Promise<Outcome>;
}

const KINDS: readonly Kind[] = [
  {
    name: 'REST, one row',
    weight: 30,
    async run(service, random) {
      const id = anId(random);
      return judgeRest(await service.call('get_item', { id }), rowsText([id]));
    },
  },
  {
    name: 'REST, 100 rows',
    weight: 10,
    async run(service, random) {
      const after = anId(random);
      return judgeRest(await service.call('list_items', { after }), rowsText(following(after, LIST)));
    },
  },
  {
    name: 'MCP 2025-11-25, one row',
    weight: 20,
    async run(service, random) {
      const id = anId(random);
      return judgeTool(
        await mcp(service, 'tools/call', { name: 'get_item', arguments: { id } }),
        rowsText([id]),
      );
    },
  },
  {
    name: 'MCP 2026-07-28, 100 rows',
    weight: 10,
    async run(service, random) {
      const after = anId(random);
      const call = { name: 'list_items', arguments: { after } };
      return judgeTool(await statelessMcp(service, 'tools/call', call), rowsText(following(after, LIST)));
    },
  },
  {
    name: 'MCP, the tools',
    weight: 4,
    async run(service) {
      const { status, json } = await mcp(service, 'tools/list', {});
      // After a restart of the gateway there is nothing to list before an agent is back.
      if (at(json, 'error', 'message') === 'agent is not connected') {
        return { kind: 'failed', code: 'GATEWAY_AGENT_OFFLINE' };
      }
      const tools = at(json, 'result', 'tools');
      const names = Array.isArray(tools) ? tools.map((tool) => at(tool, 'name')) : [];
      return status === 200 && names.join() === TOOLS.join() ? RIGHT : wrong(status, JSON.stringify(json));
    },
  },
  {
    name: 'a megabyte, over REST or MCP',
    weight: 2,
    async run(service, random) {
      const after = Math.floor(random() * (ITEMS - LARGE_ROWS));
      const rows = following(after, LARGE_ROWS).map(
        (id) => `{"id":${id},"label":"${'x'.repeat(LARGE_TEXT)}"}`,
      );
      const expected = `{"rows":[${rows.join(',')}],"count":${LARGE_ROWS}}`;
      if (random() < 0.5) return judgeRest(await service.call('large_items', { after }), expected);
      return judgeTool(
        await mcp(service, 'tools/call', { name: 'large_items', arguments: { after } }),
        expected,
      );
    },
  },
  {
    name: 'a slow query',
    weight: 6,
    async run(service, random) {
      const id = anId(random);
      const seconds = Math.round(random() * 1000) / 1000;
      return judgeRest(await service.call('slow_item', { id, seconds }), rowsText([id]));
    },
  },
  {
    name: 'a slow query whose caller leaves',
    weight: 6,
    async run(service, random) {
      const signal = AbortSignal.timeout(20 + Math.floor(random() * 400));
      try {
        const answer = await service.call('slow_item', { id: 1, seconds: 3 }, { signal });
        return judgeRest(answer, 'no answer, for the caller had left');
      } catch (error) {
        if (signal.aborted) return RIGHT;
        throw error;
      }
    },
  },
  {
    name: 'a refused parameter',
    weight: 6,
    async run(service) {
      const { status, json } = await service.call('get_item', { id: 'one' });
      const message = at(json, 'error', 'message');
      if (status === 400 && message === 'id: must be an integer') return RIGHT;
      return judgeError(status, json);
    },
  },
  {
    name: 'a capability that is not permitted',
    weight: 4,
    async run(service) {
      const { status, json } = await service.call('list_items', { after: 1 }, { key: 'some' });
      if (status === 403 && at(json, 'error', 'code') === 'GATEWAY_CAPABILITY_NOT_PERMITTED') return RIGHT;
      return judgeError(status, json);
    },
  },
  {
    name: 'no key',
    weight: 2,
    async run(service) {
      const { status, json } = await service.call('get_item', { id: 1 }, { key: null });
      return status === 401 ? RIGHT : judgeError(status, json);
    },
  },
];

/** Makes one call of a kind that `random` picks, by weight, and judges its answer by its request. */
export async function makeCall(
  service: Service,
  random: () => number,
): Promise<Outcome & { readonly of: string }> {
  const kind = pick(random, WEIGHTED);
  const startedAt = performance.now();
  let outcome: Outcome;
  try {
    outcome = await kind.run(service, random);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    outcome = { kind: 'failed', code: `lost (${cause instanceof Error ? cause.message : String(cause)})` };
  }
  const tookMs = performance.now() - startedAt;
  if (tookMs > LATEST_MS) outcome = { kind: 'wrong', what: `late: after ${Math.round(tookMs)} ms` };
  return { ...outcome, of: kind.name };
}

const WEIGHTED: readonly Kind[] = KINDS.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));

function anId(random: () => number): number {
  return 1 + Math.floor(random() * ITEMS);
}

function following(after: number, count: number): number[] {
  return Array.from({ length: Math.min(count, ITEMS - after) }, (_, at) => after + 1 + at);
}

/** As the database writes them. */
function rowsText(ids: readonly number[]): string {
  const rows = ids.map((id) => `{"id":${id},"label":${JSON.stringify(`item "${id}"`)}}`);
  return `{"rows":[${rows.join(',')}],"count":${rows.length}}`;
}

function judgeRest({ status, text, json }: Answer, expected: string): Outcome {
  if (status !== 200) return judgeError(status, json);
  return text === expected ? RIGHT : wrong(status, text);
}

function judgeError(status: number, json: unknown): Outcome {
  const code = at(json, 'error', 'code');
  if (typeof code === 'string' && MAY_FAIL.has(code)) return { kind: 'failed', code };
  return wrong(status, JSON.stringify(json));
}

function judgeTool({ status, json, text }: Answer, expected: string): Outcome {
  const content = at(json, 'result', 'content');
  const said = Array.isArray(content) ? at(content[0], 'text') : undefined;
  if (status === 200 && at(json, 'result', 'isError') === true) {
    return { kind: 'failed', code: `isError: ${String(said)}`.replaceAll(/[0-9a-f-]{36}/g, '<id>') };
  }
  const structured = JSON.stringify(at(json, 'result', 'structuredContent'));
  return status === 200 && said === expected && structured === expected ? RIGHT : wrong(status, text);
}

function mcp(service: Service, method: string, params: unknown): Promise<Answer> {
  return post(service, { jsonrpc: '2.0', id: 1, method, params }, { 'mcp-protocol-version': '2025-11-25' });
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

function statelessMcp(
  service: Service,
  method: string,
  params: { readonly name: string; readonly arguments: unknown },
): Promise<Answer> {
  return post(
    service,
    { jsonrpc: '2.0', id: 'a', method, params: { ...params, _meta: META } },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.name },
  );
}

function post(service: Service, body: unknown, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const apiKey = service.apiKeys['all'];
  return ask(`${service.url}/mcp`, { method: 'POST', apiKey, headers, body: JSON.stringify(body) });
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    found =
      typeof found === 'object' && found !== null
        ? Object.entries(found).find(([name]) => name === key)?.[1]
        : undefined;
  }
  return found;
}

function wrong(status: number, text: string | undefined): Outcome {
  return { kind: 'wrong', what: `${status} ${(text ?? '').slice(0, 300)}` };
}
