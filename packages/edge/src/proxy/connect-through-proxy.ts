import { request as requestPlain, type ClientRequestArgs } from 'node:http';
import { request as requestByTls } from 'node:https';
import { isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { errorText } from '../text/error-text.ts';
import type { Proxy } from './find-proxy.ts';

const TUNNEL_MS = 10_000;

const HINTS: ReadonlyMap<number, string> = new Map([
  [407, 'it wants a user and a password in the URL of the proxy, or others'],
  [403, 'its rules do not allow a tunnel to this host and port'],
]);

/** `createConnection` of a request. */
type CreateConnection = (
  target: ClientRequestArgs,
  done: (error: Error | null, socket: Duplex) => void,
) => undefined;

/**
 * Connections go through a tunnel of the proxy. `tls`: who may vouch for the target, to which TLS is spoken then; undefined for
 * none. An error names the proxy without its user and password.
 */
export function connectionsThrough(
  proxy: Proxy,
  tls: { readonly ca?: string | undefined } | undefined,
  signal: AbortSignal,
): CreateConnection {
  return ({ host, port }, done) => {
    const name = host ?? '';
    openTunnel(proxy, name, Number(port), signal, {
      opened(socket) {
        done(
          null,
          tls === undefined
            ? socket
            : connect({ ...tls, socket, host: name, servername: serverNameOf(name) }),
        );
      },
      failed: (error) => done(error, new Socket()),
    });
  };
}

/** One of the two is called, once. */
interface Outcome {
  opened(socket: Socket): void;
  failed(error: Error): void;
}

function openTunnel(
  { url, ca }: Proxy,
  name: string,
  port: number,
  signal: AbortSignal,
  outcome: Outcome,
): void {
  const isSecure = url.protocol === 'https:';
  const proxyPort = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const at = `the proxy ${url.hostname}:${proxyPort}`;
  const target = `${isIP(name) === 6 ? `[${name}]` : name}:${port}`;
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  const request = (isSecure ? requestByTls : requestPlain)({
    host,
    port: proxyPort,
    // Node.js would take the name in `Host`, which is that of the target.
    servername: serverNameOf(host),
    method: 'CONNECT',
    path: target,
    headers: { Host: target, ...authorization(url) },
    agent: false,
    ...(ca === undefined ? {} : { ca }),
  });
  let isLate = false;
  const giveUp = (): void => void request.destroy(new Error('given up'));
  // Not by AbortSignal.timeout: Node.js 20 forgets one that only AbortSignal.any refers to.
  const timer = setTimeout(() => {
    isLate = true;
    giveUp();
  }, TUNNEL_MS);
  const answered = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  };
  request.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
    answered();
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head);
      outcome.opened(socket);
      return;
    }
    socket.destroy();
    const hint = HINTS.get(statusCode);
    const because = hint === undefined ? '' : `: ${hint}`;
    outcome.failed(new Error(`${at} refused CONNECT with status ${statusCode}${because}`));
  });
  // Node.js emits it only before `connect`: after that the errors are those of the socket.
  request.once('error', (error) => {
    answered();
    const problem = isLate ? `no answer within ${TUNNEL_MS / 1000} s` : errorText(error);
    outcome.failed(new Error(`${at} opened no tunnel: ${problem}`));
  });
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  request.end();
}

/** TLS has no server name for an IP address. */
function serverNameOf(host: string): string {
  return isIP(host) === 0 ? host : '';
}

function authorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return { 'Proxy-Authorization': `Basic ${credentials.toString('base64')}` };
}
