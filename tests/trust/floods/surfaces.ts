import type { Attack } from './attacker.ts';

/** One way for somebody without a key to make the gateway work, or keep something. */
export interface Assault extends Pick<Attack, 'way' | 'request' | 'depth' | 'connections'> {
  readonly surface: 'HTTP' | 'WebSocket' | 'key check';
  readonly title: string;
  /** Whether the gateway's key records have one, which spares comparisons. */
  readonly keyIds: boolean;
}

const HOST = 'Host: g\r\n';
const CALL = '/api/v1/capabilities/get_item';
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`;
const call = (headers: string): string =>
  `POST ${CALL} HTTP/1.1\r\n${HOST}${headers}Content-Length:0\r\n\r\n`;
const upgrade = (headers: string): string =>
  get(
    '/ws/agent',
    `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${headers}`,
  );
const STRANGER = upgrade('Sec-WebSocket-Protocol: svc-agent.v1\r\n');
/** A text message of 2 bytes with the mask 0000. */
const NO_HELLO = '\x81\x82\0\0\0\0{}';
const LANES = 8;
/** As many as the gateway lets wait on one connection. */
const DEPTH = 100;

/** `apiKey` is one of the gateway's: its id is known to the attacker, its secret is not. */
export function assaults(apiKey: string): readonly Assault[] {
  const wrong = unknownKeys(apiKey);
  const http = { surface: 'HTTP', way: 'pipelined', connections: LANES, depth: DEPTH, keyIds: true } as const;
  const keys = {
    surface: 'key check',
    way: 'pipelined',
    connections: LANES,
    depth: DEPTH,
    keyIds: true,
  } as const;
  const sockets = { surface: 'WebSocket', connections: 2 * LANES, depth: 1, keyIds: true } as const;
  return [
    { ...http, title: 'GET /healthz, pipelined', request: get('/healthz') },
    { ...http, title: 'too many at once', request: get('/healthz'), depth: 2000 },
    { ...http, title: 'a path that does not exist', request: get('/') },
    { ...http, title: 'nothing but the request line', request: 'GET / HTTP/1.1\r\n\r\n' },
    { ...http, title: 'a call without a key', request: call('') },
    { ...http, title: 'MCP without a key', request: `POST /mcp HTTP/1.1\r\n${HOST}Content-Length:0\r\n\r\n` },
    { ...http, title: 'GET /openapi.json without a key', request: get('/openapi.json') },
    { ...http, title: '4,000 headers', request: get('/healthz', 'a:\r\n'.repeat(4000)), depth: 4 },
    {
      ...http,
      title: 'a body of 60 KB nobody wants',
      request: `POST ${CALL} HTTP/1.1\r\n${HOST}Content-Length: 60000\r\n\r\n${'x'.repeat(60_000)}`,
      depth: 1,
    },
    { ...http, way: 'each', title: 'a connection for each request', request: get('/healthz') },
    { ...http, way: 'each', title: 'no HTTP', request: 'x\r\n\r\n' },
    {
      ...http,
      way: 'unread',
      title: 'answers that are never read',
      request: get('/healthz'),
      connections: 30,
    },
    {
      ...http,
      way: 'held',
      title: 'connections kept after an answer',
      request: get('/healthz'),
      connections: 10_000,
    },
    {
      ...http,
      way: 'held',
      title: 'connections kept within a head',
      request: 'GET / HTTP/1.1\r\na: b',
      connections: 10_000,
    },
    {
      ...http,
      way: 'held',
      title: 'connections kept within a head of 15 KB',
      request: `GET / HTTP/1.1\r\n${'a:\r\n'.repeat(3750)}`,
      connections: 2000,
    },
    { ...sockets, way: 'each', title: 'no subprotocol', request: upgrade('') },
    { ...sockets, way: 'each', title: 'upgrade and leave', request: STRANGER },
    { ...sockets, way: 'each', title: 'no hello', request: STRANGER + NO_HELLO },
    { ...sockets, way: 'held', title: 'strangers that stay', request: STRANGER, connections: 5000 },
    ...wrong.map((each) => ({ ...keys, ...each })),
    ...wrong.slice(0, 1).map(({ title, request }) => {
      return { ...keys, keyIds: false, title: `${title}, records without key_id`, request };
    }),
    ...wrong.slice(-1).map(({ title, request }) => {
      return { ...keys, way: 'each' as const, title: `${title}, a connection for each`, request };
    }),
  ];
}

/** Calls with keys that are not the gateway's. */
export function unknownKeys(apiKey: string, headers = ''): readonly Pick<Assault, 'title' | 'request'>[] {
  return [
    { title: 'keys of no form', request: call(`${headers}X-API-Key:%\r\n`) },
    {
      title: 'keys of unknown ids',
      request: call(`${headers}X-API-Key:${apiKey.replace(/^svc_[^_]+/, 'svc_%')}\r\n`),
    },
    {
      title: 'wrong secrets of a known id',
      request: call(`${headers}X-API-Key:${apiKey.slice(0, -8)}%\r\n`),
    },
  ];
}
