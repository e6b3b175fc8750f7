import net from 'node:net';
import tls from 'node:tls';

export interface CancelTarget {
  readonly processId: number;
  readonly secret: number;
  readonly address: net.NetConnectOpts;
  readonly ssl: tls.ConnectionOptions | false;
  /** The name that the certificate was checked against. */
  readonly host: string;
}

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
/** `S`: the server takes TLS. */
const YES = 0x53;

/**
 * Asks the server to cancel what the session runs. Resolves true once the server has closed the socket, which it
 * does after the signal went out; false when that is not certain within `timeoutMs`: then the request may still
 * arrive, and the session must not serve another call.
 */
export function sendCancelRequest(target: CancelTarget, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let sent = false;
    const socket = net.connect(target.address);
    const timer = setTimeout(() => {
      sent = false;
      socket.destroy();
    }, timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      resolve(sent);
    };
    // An error is always followed by close.
    socket.on('error', () => {});
    socket.on('close', settle);
    const send = (stream: net.Socket): void => {
      stream.resume();
      stream.write(cancelMessage(target), () => {
        sent = true;
      });
    };
    socket.once('connect', () => {
      if (target.ssl === false) {
        send(socket);
        return;
      }
      socket.write(sslRequestMessage());
      socket.once('data', (answer) => {
        // What comes behind its answer before the connection is encrypted may be anybody's.
        if (answer.length === 1 && answer[0] === YES) upgrade(socket, target.ssl, target.host, send);
        else socket.destroy();
      });
    });
  });
}

function upgrade(
  socket: net.Socket,
  ssl: tls.ConnectionOptions | false,
  host: string,
  send: (stream: net.Socket) => void,
): void {
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  const secure = tls.connect({ ...ssl, socket, host, ...servername });
  secure.on('error', () => socket.destroy());
  secure.once('secureConnect', () => send(secure));
}

function cancelMessage(target: CancelTarget): Buffer {
  const message = Buffer.alloc(16);
  message.writeInt32BE(16, 0);
  message.writeInt32BE(CANCEL_REQUEST, 4);
  message.writeInt32BE(target.processId, 8);
  message.writeInt32BE(target.secret, 12);
  return message;
}

function sslRequestMessage(): Buffer {
  const message = Buffer.alloc(8);
  message.writeInt32BE(8, 0);
  message.writeInt32BE(SSL_REQUEST, 4);
  return message;
}
