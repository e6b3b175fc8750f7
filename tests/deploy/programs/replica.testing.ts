import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';

/** How a stand-in for a gateway answers. */
interface Manner {
  ready: boolean;
  alive: boolean;
  /** What it does with a call. */
  calls: 'answers' | '503' | 'hangs up';
}

/** A server that answers a balancer as a gateway would, and counts. */
export interface Replica {
  readonly port: number;
  readonly manner: Manner;
  /** Calls that arrived. */
  calls: number;
  /** What the last call said in X-Forwarded-For. */
  forwardedFor: string | undefined;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** How long a refusal takes: long enough for those that were sent together to be under way together. */
const REFUSAL_MS = 50;

export async function startReplica(): Promise<Replica> {
  const manner: Manner = { ready: true, alive: true, calls: 'answers' };
  let server: Server | undefined;
  // The server forgets connections that are no longer HTTP.
  const links = new Set<Duplex>();
  const replica: Replica & { port: number } = {
    port: 0,
    manner,
    calls: 0,
    forwardedFor: undefined,
    async start() {
      const started = createServer((request, response) => {
        answer(request, response).catch(() => response.destroy());
      });
      started.on('upgrade', (request, socket) => {
        const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
        const accept = createHash('sha1').update(key).digest('base64');
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
            `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
        );
        links.add(socket);
        socket.on('error', () => {}).resume();
      });
      started.listen(replica.port, '127.0.0.1');
      await once(started, 'listening');
      const address = started.address();
      if (typeof address !== 'object' || address === null) throw new Error('no address');
      replica.port = address.port;
      server = started;
    },
    async stop() {
      const stopped = server;
      server = undefined;
      if (stopped === undefined) return;
      for (const link of links) link.destroy();
      stopped.closeAllConnections();
      await new Promise((resolve) => stopped.close(resolve));
    },
  };
  await replica.start();
  return replica;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const state = { '/readyz': manner.ready, '/healthz': manner.alive }[request.url ?? ''];
    if (state !== undefined) {
      response.writeHead(state ? 200 : 503).end('{}');
      return;
    }
    replica.calls += 1;
    replica.forwardedFor = String(request.headers['x-forwarded-for']);
    const body = await buffer(request);
    if (manner.calls === 'hangs up') {
      response.destroy();
    } else if (manner.calls === '503') {
      await new Promise((resolve) => setTimeout(resolve, REFUSAL_MS));
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"of the gateway"}');
    } else {
      response.writeHead(200).end(body);
    }
  }
}
