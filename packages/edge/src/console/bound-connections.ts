import type { Server, Socket } from 'node:net';

/**
 * Bounds the connections of a console without keeping its user out: a new connection takes the place of the oldest one
 * that has not shown a right token. Returns what is to be called when a connection has shown it.
 */
export function boundConnections(server: Server, most: number): (socket: Socket) => void {
  /** The oldest first. By the other end's address, since requests over TLS know another socket than the server. */
  const unproven = new Map<string, Socket>();
  const proven = new Map<string, Socket>();

  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    if (unproven.size + proven.size >= most) {
      const [oldest] = unproven;
      if (oldest === undefined) {
        socket.destroy();
        return;
      }
      unproven.delete(oldest[0]);
      oldest[1].destroy();
    }
    unproven.set(peer, socket);
    socket.once('close', () => {
      for (const sockets of [unproven, proven]) if (sockets.get(peer) === socket) sockets.delete(peer);
    });
  });

  return (socket) => {
    const peer = peerOf(socket);
    const connection = unproven.get(peer);
    if (connection === undefined) return;
    unproven.delete(peer);
    proven.set(peer, connection);
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
