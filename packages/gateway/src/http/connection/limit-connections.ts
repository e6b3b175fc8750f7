import type { Server, Socket } from 'node:net';

/** Far above what a gateway serves at once; keeps a flood from taking every file descriptor. */
const MAX_CONNECTIONS = 20_000;

/** How many connections each of so many serving processes takes. */
export function maxConnectionsOf(workers: number): number {
  return Math.ceil(MAX_CONNECTIONS / workers);
}

/**
 * Ends each connection beyond `most`, as Node's own bound does where there is one process. Of a worker with that bound
 * the primary would take connections back, and hand them around for as long as all workers have theirs.
 */
export function endFurtherConnections(server: Server, most: number): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // A server whose connection is given back to it, after an upgrade that it declines, tells of it again.
    if (open.has(socket)) return;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > most) socket.destroy();
  });
}
