import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';

export interface RetryingBalancer {
  readonly port: number;
  /** How many requests were sent to a second gateway. */
  readonly retries: number;
  close(): Promise<void>;
}

/**
 * A balancer of HTTP in front of ports of this machine: each request goes to the next port, and once to the one behind it
 * where the first does not answer or answers 503. What has begun to be answered is not sent again.
 */
export async function startRetryingBalancer(ports: readonly number[]): Promise<RetryingBalancer> {
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  let retries = 0;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const first = turn++;
    let answer = await send(first, incoming, Buffer.concat(pieces));
    if (answer === undefined || answer.statusCode === 503) {
      retries += 1;
      answer?.resume();
      answer = await send(first + 1, incoming, Buffer.concat(pieces));
    }
    if (answer === undefined) {
      response.writeHead(502).end();
      return;
    }
    const { connection: _, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, headers);
    answer.once('error', () => response.destroy());
    answer.pipe(response);
  }

  /** Undefined when no answer begins. */
  function send(
    index: number,
    { method, url, headers }: IncomingMessage,
    body: Buffer,
  ): Promise<IncomingMessage | undefined> {
    const port = ports[index % ports.length];
    return new Promise((resolve) => {
      const sent = request({ agent, host: '127.0.0.1', port, method, path: url, headers }, resolve);
      sent.once('error', () => resolve(undefined));
      sent.end(body);
    });
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  // One that is closed when it has been idle for a while may be used at that moment, and then fails a call by itself.
  server.keepAliveTimeout = 0;
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null)
    throw new Error('cannot start the balancer: no address');
  return {
    port: address.port,
    get retries() {
      return retries;
    },
    async close() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
