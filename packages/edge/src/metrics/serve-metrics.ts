import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, type AcceptFailure } from '../network/listen.ts';
import type { ListenAddress } from '../network/listen-address.ts';
import type { MetricsPage } from './register.ts';

export interface MetricsListener {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS = 'application/openmetrics-text';
const OPEN_METRICS_TYPE = `${OPEN_METRICS}; version=1.0.0; charset=utf-8`;
/** Few programs scrape; others that find the port must not use up the descriptors of the process. */
const MAX_CONNECTIONS = 16;
/** One connection is one scrape, whatever its other end does. */
const CONNECTION_MS = 5000;

/**
 * `GET /metrics` on an address of its own. Rejects with CannotListen, which names `setting`; for `onAcceptFailure` see
 * `listen`.
 */
export async function serveMetrics(
  register: MetricsPage,
  address: ListenAddress,
  setting: string,
  onAcceptFailure: (failure: AcceptFailure) => void,
): Promise<MetricsListener> {
  const server = createServer((request, response) => void answer(request, response, register));
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (socket) => {
    const timer = setTimeout(() => socket.destroy(), CONNECTION_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  });
  const { address: host, port } = await listen(server, address, setting, onAcceptFailure);
  return {
    address: host,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  register: MetricsPage,
): Promise<void> {
  const { method, url = '' } = request;
  const send = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): void => {
    response.writeHead(status, {
      'Content-Type': CONTENT_TYPE,
      'Content-Length': Buffer.byteLength(text),
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      Connection: 'close',
      ...headers,
    });
    response.end(text);
  };
  request.resume();
  if (url.split('?', 1)[0] !== '/metrics') {
    send(404, 'no such path: the metrics are at /metrics\n');
  } else if (method !== 'GET' && method !== 'HEAD') {
    send(405, 'the method is not allowed here\n', { Allow: 'GET, HEAD' });
  } else {
    try {
      const { openMetricsText } = register;
      if (openMetricsText !== undefined && takesOpenMetrics(request.headers.accept)) {
        send(200, await openMetricsText(), { 'Content-Type': OPEN_METRICS_TYPE });
      } else send(200, await register.text());
    } catch {
      send(500, 'the metrics cannot be read\n');
    }
  }
}

/** A scraper that names OpenMetrics can read it. Prometheus does, and prefers it. */
function takesOpenMetrics(accept = ''): boolean {
  return accept
    .split(',')
    .some((range) => range.trim().startsWith(OPEN_METRICS) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(range));
}
