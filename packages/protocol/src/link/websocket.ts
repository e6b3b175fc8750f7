import type { LinkSocket } from './link.ts';

/** What a link needs of a WebSocket of the library `ws`. */
export interface WebSocketLike {
  send(data: Buffer, options: { readonly binary: boolean }, sent: () => void): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** A close frame holds 123 bytes of reason; ours are ASCII. */
const CLOSE_REASON_MAX = 123;

export function linkSocket(socket: WebSocketLike): LinkSocket {
  return {
    send: (message, sent) => socket.send(message, { binary: true }, sent),
    close: (code, reason) => socket.close(code, reason.slice(0, CLOSE_REASON_MAX)),
    terminate: () => socket.terminate(),
  };
}
