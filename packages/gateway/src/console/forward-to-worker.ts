import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { Agent, createServer, type RequestListener, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { forwardRequest } from '@svc/edge/console';
import type { CallErrorCode } from '@svc/protocol';
import { errorResponse } from '../core/call-error.ts';
import type { PrimaryChannel, WorkerChannel } from '../cluster/channel.ts';

/** The header with the address that sent the request to the primary. Only processes of the gateway's user reach the socket. */
const SOURCE = 'Svc-Console-Source';
/** To one worker: a connection may send any number of requests before it reads an answer. */
const MAX_FORWARDED = 256;
/** More than the primary reads, since it adds headers of its own. */
const MAX_HEADER_BYTES = 32_768;

/** In the primary, which serves no calls: hands requests to the APIs to its workers in turn. `folder` has their sockets. */
export function forwardToWorkers(channel: PrimaryChannel, folder: string): RequestListener {
  const agent = new Agent({ maxSockets: MAX_FORWARDED });
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
      refuse(response, 'GATEWAY_AGENT_OFFLINE', 'no worker of this replica is ready');
      return;
    }
    forwardRequest(request, response, {
      to: { socketPath, agent },
      added: [SOURCE, request.socket.remoteAddress ?? ''],
      refuse: (refused, message) => refuse(refused, 'GATEWAY_INVALID_REQUEST', message),
      onAway: () => refuse(response, 'GATEWAY_AGENT_OFFLINE', 'the worker that had the call is gone'),
    });
  };
}

/** In a worker. Resolves when the primary knows its socket. */
export async function serveForwarded(channel: WorkerChannel, accept: RequestListener): Promise<() => void> {
  const path = await channel.ask('console_socket', undefined);
  const settings = { requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES };
  const server = createServer(settings, (request, response) => {
    const source = request.headers[SOURCE.toLowerCase()];
    Object.defineProperty(request.socket, 'remoteAddress', { value: source });
    request.rawHeaders = withoutHeader(request.rawHeaders, SOURCE);
    accept(request, response);
  });
  server.maxHeadersCount = 0;
  // Otherwise the primary would listen and hand connections over, and one whose worker dies would wait forever.
  server.listen({ path, exclusive: true });
  await once(server, 'listening');
  channel.tell('console_reachable', { path });
  return () => void server.close();
}

function refuse(response: ServerResponse, code: CallErrorCode, message: string): void {
  const { status, body } = errorResponse(code, message);
  response.writeHead(status, ['Content-Type', 'application/json', 'Cache-Control', 'no-store']);
  response.end(body);
}

/** `raw` alternates names and values, as `IncomingMessage.rawHeaders` does. */
export function withoutHeader(raw: readonly string[], name: string): string[] {
  return raw.flatMap((text, at) =>
    at % 2 === 0 && text.toLowerCase() !== name.toLowerCase() ? [text, raw[at + 1] ?? ''] : [],
  );
}
