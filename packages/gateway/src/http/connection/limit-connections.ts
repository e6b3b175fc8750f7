import type { Server, Socket } from 'node:net';

/** Far above what a gateway serves at once; keeps a flood from taking every file descriptor. */
const MAX_CONNECTIONS = 20_000;

/** Files and sockets of a process besides connections: threads, siblings, Valkey, keys of issuers, logs. */
const OTHER_FILES = 128;

/** How many connections each of so many serving processes takes when it may have `openFiles` files open. */
export function maxConnectionsOf(workers: number, openFiles: number): number {
  const left = Math.max(openFiles - OTHER_FILES, Math.floor(openFiles / 2));
  return Math.min(Math.ceil(MAX_CONNECTIONS / workers), left);
}

/** Undefined where the limit of open files is no lower than the number of connections that the gateway takes. */
export function openFilesWarning(workers: number, openFiles: number): string | undefined {
  const most = Math.ceil(MAX_CONNECTIONS / workers);
  if (openFiles >= most) return undefined;
  const who = workers === 1 ? 'the gateway serves' : `each of the ${workers} workers serves`;
  return (
    `${who} ${maxConnectionsOf(workers, openFiles)} connections at once instead of ${most}, since a process may have ` +
    `${openFiles} files open; raise the limit (ulimit -n, LimitNOFILE of systemd, --ulimit nofile of Docker) to ` +
    `${most + OTHER_FILES}`
  );
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
