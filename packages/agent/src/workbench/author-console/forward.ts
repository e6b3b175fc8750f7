import { Agent, request as ask, type RequestListener } from 'node:http';
import { pipeline } from 'node:stream';

export interface Forward {
  readonly serve: RequestListener;
  close(): void;
}

const MAX_SOCKETS = 32;
/** They belong to one connection. */
const OF_CONNECTION =
  /^(?:connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|expect)$/i;

/** Hands requests on to a server on this machine as they are; `onAway` answers for one that is not there. */
export function createForward(origin: string, onAway: RequestListener): Forward {
  const { hostname, port } = new URL(origin);
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  return {
    serve(request, response) {
      const headers = ofMessage(request.rawHeaders);
      // Without it the body of a GET goes out bare, and the server takes it for the next request.
      if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
      const asked = ask({
        agent,
        host: hostname,
        port,
        method: request.method,
        path: request.url,
        // The name that the browser asked for, too.
        setHost: false,
        headers,
      });
      asked.once('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, ofMessage(answer.rawHeaders));
        pipeline(answer, response, () => {});
      });
      asked.on('error', () => {
        if (response.headersSent) response.destroy();
        else onAway(request, response);
      });
      response.once('close', () => {
        if (!response.writableFinished) asked.destroy();
      });
      pipeline(request, asked, () => {});
    },
    close: () => agent.destroy(),
  };
}

function ofMessage(raw: readonly string[]): string[] {
  return raw.flatMap((text, at) =>
    at % 2 === 0 && !OF_CONNECTION.test(text) ? [text, raw[at + 1] ?? ''] : [],
  );
}
