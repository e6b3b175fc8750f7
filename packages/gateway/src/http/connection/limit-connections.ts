import type { Server, Socket } from 'node:net';

/** Far above what a gateway serves at once; keeps a flood from taking every file descriptor. */
const MAX_CONNECTIONS = 20_000;

/** Files and sockets besides callers' connections: threads, other workers, Valkey, keys of issuers, logs. */
const OTHER_FILES = 128;

export function maxConnectionsOf(workers: number, openFiles: number): number {
  const left = Math.max(openFiles - OTHER_FILES, Math.floor(openFiles / 2));
  return Math.min(Math.ceil(MAX_CONNECTIONS / workers), left);
}

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
 * Ends each connection beyond `most`. With the bound of Node.js itself, the primary would take the connection back from a
 * worker and hand it from one full worker to the next.
 */
export function endFurtherConnections(server: Server, most: number): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // A connection that is given back after a declined upgrade is announced again.
    if (open.has(socket)) return;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > most) socket.destroy();
  });
}
