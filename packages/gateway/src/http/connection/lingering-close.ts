import type { Socket } from 'node:net';
import { STALLED_CALLER_MS } from '../response-writer.ts';

const LINGER_MS = 1000;

/**
 * Ends a connection in two steps after its last answer (RFC 9112, section 9.6): what still comes is read and dropped for
 * a while, since closing with unread data resets the connection and loses answers that are on their way.
 * `onEnding` is called when nothing more will be sent.
 */
export function lingerBeforeClose(socket: Socket, onEnding: () => void): void {
  // Node.js calls this after the last answer.
  socket.destroySoon = () => {
    if (!socket.writable) return;
    onEnding();
    let timer = setTimeout(() => socket.destroy(), STALLED_CALLER_MS);
    socket.once('close', () => clearTimeout(timer));
    socket.end(() => {
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), LINGER_MS);
    });
    socket.resume();
  };
}
