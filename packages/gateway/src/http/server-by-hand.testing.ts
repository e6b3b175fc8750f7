import { once } from 'node:events';
import {
  request as httpRequest,
  type Agent,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http';
import type { GatewayEvent, RequestEvent } from '../telemetry/events.ts';
import type { Exchange } from './exchange.ts';
import { createGatewayServer, type Handlers, type GatewayServer, type ServerOptions } from './server.ts';

/** A real server on a free port whose handlers are the test's. */
export interface StartedServer {
  readonly gateway: GatewayServer;
  readonly port: number;
  readonly events: GatewayEvent[];
  /** The request records so far. */
  readonly requests: () => RequestEvent[];
  /** Resolves once that many requests have been recorded. */
  readonly recorded: (count: number) => Promise<RequestEvent[]>;
  /** Cuts every connection. */
  readonly close: () => Promise<void>;
}

export async function startServer(
  handlers: Partial<Handlers> = {},
  options: Partial<ServerOptions> = {},
): Promise<StartedServer> {
  const events: GatewayEvent[] = [];
  let wake: (() => void) | undefined;
  const gateway = createGatewayServer({
    workers: 1,
    handlers: {
      call: async (exchange) => exchange.send(200, [], [Buffer.from('{"rows":[],"count":0}')]),
      mcp: async (exchange) => exchange.send(202, [], []),
      openapi: async (exchange) => exchange.send(200, [], [Buffer.from('{}')]),
      health: (exchange) => exchange.send(200, [], [Buffer.from('{"ok":true}')]),
      ready: (exchange) => exchange.send(200, [], [Buffer.from('{"ok":true}')]),
      agent: (exchange) => exchange.sendError('GATEWAY_UPGRADE_REQUIRED', 'agents connect here'),
      ...handlers,
    },
    resolveSource: () => ({ address: '127.0.0.1', bucket: '127.0.0.1', allowed: true }),
    rateLimiter: undefined,
    cors: undefined,
    tls: undefined,
    bodyReadTimeoutMs: 10_000,
    keepAliveMs: 67_000,
    unknownCaller: undefined,
    metadata: undefined,
    console: undefined,
    services: undefined,
    basePath: '',
    unknownService: undefined,
    observe(event) {
      events.push(event);
      wake?.();
    },
    now: () => performance.now(),
    ...options,
  });
  gateway.server.listen(0, '127.0.0.1');
  await once(gateway.server, 'listening');
  const address = gateway.server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  const requests = (): RequestEvent[] => events.filter((event) => event.event === 'request');
  return {
    gateway,
    port: address.port,
    events,
    requests,
    async recorded(count) {
      while (requests().length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return requests();
    },
    async close() {
      gateway.server.closeAllConnections();
      gateway.server.close();
      // The server does not know sockets that were upgraded: their client ends them.
      if (gateway.server.listening) await once(gateway.server, 'close');
    },
  };
}

export const CALL = '/api/v1/capabilities/get';

/** A call as it travels. */
export function post(body: string, extraHeaders = ''): string {
  return (
    `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${extraHeaders}\r\n${body}`
  );
}

/** A handler of calls that never answers; the test gets its exchanges. */
export function silentCalls(): {
  readonly handlers: Pick<Handlers, 'call'>;
  readonly next: () => Promise<Exchange>;
} {
  const arrived: Exchange[] = [];
  const waiting: ((exchange: Exchange) => void)[] = [];
  return {
    handlers: {
      call: async (exchange) => {
        const waiter = waiting.shift();
        if (waiter === undefined) arrived.push(exchange);
        else waiter(exchange);
      },
    },
    next: async () => arrived.shift() ?? new Promise((resolve) => waiting.push(resolve)),
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One ordinary request by Node's own client. */
export async function ask(
  port: number,
  path: string,
  options: {
    readonly method?: string;
    readonly headers?: OutgoingHttpHeaders;
    readonly body?: string | Uint8Array;
    readonly agent?: Agent;
  } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body, agent } = options;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { port, host: '127.0.0.1', path, method, headers, agent: agent ?? false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
