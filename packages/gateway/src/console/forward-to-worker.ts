import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, request as ask, type RequestListener, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { errorResponse } from '../http/error-response.ts';
import type { PrimaryChannel, WorkerChannel } from '../workers/channel.ts';

/** Who sent the request to the primary. Only processes of the gateway's user reach the socket that this comes over. */
const SOURCE = 'Svc-Console-Source';
/** What the primary and a worker say to each other about the connection between them. Node.js throws on a sent Trailer. */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
  SOURCE.toLowerCase(),
]);

/** In the primary, which serves no calls: hands what is for the APIs to its workers in turn. `folder` has their sockets. */
export function forwardToWorkers(channel: PrimaryChannel, folder: string): RequestListener {
  const paths = new Map<number, string>();
  let sockets = 0;
  let turn = 0;
  channel.answer('console_socket', (_question, worker) => join(folder, `console-${worker}-${++sockets}`));
  channel.on('console_reachable', ({ path }, worker) => void paths.set(worker, path));
  channel.onLeave((worker) => {
    const path = paths.get(worker);
    paths.delete(worker);
    if (path !== undefined) rmSync(path, { force: true });
  });

  return (request, response) => {
    const all = [...paths.values()];
    const socketPath = all[turn++ % Math.max(1, all.length)];
    if (socketPath === undefined) {
      refuse(response, 'no worker of this replica is ready');
      return;
    }
    const { method, url, rawHeaders, socket, headers: sent } = request;
    const headers = withoutConnection(rawHeaders);
    headers.push(SOURCE, socket.remoteAddress ?? '');
    if (sent['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
    const asked = ask({ socketPath, method, path: url, headers, agent: false });
    asked.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutConnection(answer.rawHeaders));
      // A worker that ends meanwhile ends the answer, too.
      pipeline(answer, response, () => {});
    });
    asked.once('error', () => {
      if (response.headersSent) response.destroy();
      else refuse(response, 'the worker that had the call is gone');
    });
    response.once('close', () => asked.destroy());
    request.pipe(asked);
  };
}

/** In a worker. Resolves when the primary has been told of it. */
export async function serveForwarded(channel: WorkerChannel, accept: RequestListener): Promise<() => void> {
  const path = await channel.ask('console_socket', undefined);
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const source = request.headers[SOURCE.toLowerCase()];
    Object.defineProperty(request.socket, 'remoteAddress', { value: source });
    request.rawHeaders = withoutHeader(request.rawHeaders);
    accept(request, response);
  });
  server.listen(path);
  await once(server, 'listening');
  channel.tell('console_reachable', { path });
  return () => void server.close();
}

function withoutHeader(raw: readonly string[]): string[] {
  return pairs(raw, (name) => name !== SOURCE.toLowerCase());
}

function withoutConnection(raw: readonly string[]): string[] {
  return pairs(raw, (name) => !OF_CONNECTION.has(name));
}

function pairs(raw: readonly string[], wanted: (name: string) => boolean): string[] {
  return raw.flatMap((text, at) =>
    at % 2 === 0 && wanted(text.toLowerCase()) ? [text, raw[at + 1] ?? ''] : [],
  );
}

function refuse(response: ServerResponse, message: string): void {
  const { status, body } = errorResponse('GATEWAY_AGENT_OFFLINE', message);
  response.writeHead(status, ['Content-Type', 'application/json', 'Cache-Control', 'no-store']);
  response.end(body);
}
