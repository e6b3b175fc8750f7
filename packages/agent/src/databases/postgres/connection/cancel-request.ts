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
 * Asks the server to cancel what the session runs. Resolves true once the server has closed the socket, which it does
 * after the signal went out. If false, the request may still arrive, and the session must not serve another call.
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
      stream.write(message(CANCEL_REQUEST, target.processId, target.secret), () => {
        sent = true;
      });
    };
    socket.once('connect', () => {
      if (target.ssl === false) {
        send(socket);
        return;
      }
      socket.write(message(SSL_REQUEST));
      socket.once('data', (answer) => {
        // Anybody may have sent what follows the answer before the connection is encrypted.
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

/** As the protocol writes both requests: the length and then numbers of four bytes. */
function message(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 4 * numbers.length);
  for (const [at, number] of [bytes.length, ...numbers].entries()) bytes.writeInt32BE(number, 4 * at);
  return bytes;
}
