import { ask, createKey, createRandom, pick, startProcess, SVC } from '@svc/testkit';
import { startStdio } from './stdio.testing.ts';

export interface SequencesReport {
  readonly seed: number;
  readonly sequences: number;
  readonly requests: number;
  readonly unequal: readonly string[];
}

interface Request {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly isStateless: boolean;
}

const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '1999-01-01'] as const;
const STATELESS = '2026-07-28';
const IDS = [0, 1, -7, 4_294_967_296, 'a', 'ü"\n', ''] as const;

const CALLS: readonly Readonly<Record<string, unknown>>[] = [
  { name: 'get_book', arguments: { id: 7 } },
  { name: 'get_book', arguments: { id: 100_000 } },
  { name: 'get_book', arguments: { id: 'seven' } },
  { name: 'get_book', arguments: {} },
  { name: 'get_book', arguments: { id: 7, more: true } },
  { name: 'get_book' },
  { name: 'list_books', arguments: { most: 3 } },
  { name: 'list_books', arguments: { most: 500 } },
  { name: 'list_books', arguments: { most: 501 } },
  { name: 'large', arguments: { rows: 300 } },
  { name: 'mine', arguments: {} },
  { name: 'mine', arguments: { area: 'mine' } },
  { name: 'no_such_tool', arguments: {} },
  { name: 7 },
  {},
];

function requestOf(random: () => number): Request {
  const isStateless = random() < 0.4;
  const method = pick(random, [
    'tools/call',
    'tools/call',
    'tools/call',
    'tools/list',
    'ping',
    'server/discover',
    'resources/list',
    'prompts/get',
    'initialize',
    'x',
  ]);
  const params =
    method === 'tools/call'
      ? pick(random, CALLS)
      : method === 'initialize'
        ? {
            protocolVersion: pick(random, REVISIONS),
            capabilities: {},
            clientInfo: { name: 'a', version: '1' },
          }
        : method === 'tools/list'
          ? pick(random, [{}, { cursor: 'none' }, { cursor: 7 }])
          : {};
  return { method, params, isStateless };
}

/** What both must say: without what names the server. */
function comparable(text: string): string {
  return text
    .replaceAll('"listChanged":true', '')
    .replaceAll('"name":"svc-gateway"', '"name":"svc"')
    .replaceAll(/"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"/g, '"ID"')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID');
}

/** Sends the same requests, by chance, to `svc stdio` and to /mcp of `svc serve`, and compares the bytes of the answers. */
export async function compareSequences(options: {
  readonly sequences: number;
  readonly seed: number;
  readonly file: string;
}): Promise<SequencesReport> {
  const { sequences, seed, file } = options;
  const random = createRandom(seed);
  const { api_key: apiKey, record } = await createKey('local', '*');
  const served = await startProcess(SVC, ['serve', '--config', file], {
    env: {
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_API_KEYS_JSON: JSON.stringify([{ ...record, claims: { area: 'north' } }]),
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
      GATEWAY_RATE_LIMIT_BURST: '100000',
      GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
      GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: '100000',
    },
  });
  const unequal: string[] = [];
  let requests = 0;
  try {
    const listening = await served.waitForLine((line) => line.includes('"event":"listening"'));
    const { port }: { readonly port: number } = JSON.parse(listening);
    const client = await startStdio(['--config', file, '--claim', 'area=north']);
    try {
      await client.initialize();
      for (let sequence = 0; sequence < sequences; sequence += 1) {
        const length = 1 + Math.floor(random() * 8);
        for (let step = 0; step < length; step += 1) {
          const { method, params, isStateless } = requestOf(random);
          const id = pick(random, IDS);
          const meta = isStateless
            ? {
                _meta: {
                  'io.modelcontextprotocol/protocolVersion': STATELESS,
                  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
                  'io.modelcontextprotocol/clientCapabilities': {},
                },
              }
            : {};
          const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...meta } });
          const name: unknown = params['name'];
          const byHttp = await ask(`http://127.0.0.1:${port}/mcp`, {
            method: 'POST',
            apiKey,
            body,
            headers: {
              accept: 'application/json, text/event-stream',
              ...(isStateless ? { 'mcp-protocol-version': STATELESS, 'mcp-method': method } : {}),
              ...(isStateless && typeof name === 'string' ? { 'mcp-name': name } : {}),
            },
          });
          const before = client.process.output('stdout').length;
          const byStdio = new Promise<string>((resolve) => {
            const look = (): void => {
              const text = client.process.output('stdout').slice(before);
              if (text.endsWith('\n')) resolve(text.trimEnd());
              else setImmediate(look);
            };
            look();
          });
          client.raw(`${body}\n`);
          requests += 1;
          const [one, other] = [comparable(await byStdio), comparable(byHttp.text)];
          if (one !== other)
            unequal.push(
              `${body}\n  stdio: ${one.slice(0, 300)}\n  /mcp: ${byHttp.status} ${other.slice(0, 300)}`,
            );
        }
      }
      client.end();
      await client.process.exited;
    } finally {
      await client.process.stop();
    }
  } finally {
    await served.stop();
  }
  return { seed, sequences, requests, unequal };
}
