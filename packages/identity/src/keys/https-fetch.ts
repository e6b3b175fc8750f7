import { get } from 'node:https';
import { connectionsThrough, type FindProxy } from '@svc/edge';
import { KeysProblem } from './keys-problem.ts';

export const FETCH_MAX_BYTES: number = 256 * 1024;

/** The body of what `url` answers. Rejects for any status but 200. */
export type FetchBytes = (url: string, signal: AbortSignal) => Promise<Uint8Array>;

/**
 * Fetches over https and nothing else, follows no redirect and decompresses nothing, so that a few bytes cannot become
 * many. Certificates are judged by Node's roots and NODE_EXTRA_CA_CERTS, in tests by `ca`.
 */
export function createHttpsFetch(findProxy: FindProxy, trust: { readonly ca?: string } = {}): FetchBytes {
  return async (url, signal) =>
    new Promise((resolve, reject) => {
      const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
      const proxy = findProxy(new URL(url));
      const way =
        proxy === undefined
          ? { agent: false }
          : // Without an agent Node.js takes port 80 for a URL that names none.
            { createConnection: connectionsThrough(proxy, trust, signal), defaultPort: 443 };
      const request = get(url, { ...trust, ...way, signal, headers }, (response) => {
        const { statusCode = 0, headers: answered } = response;
        const encoding = answered['content-encoding'] ?? 'identity';
        if (statusCode !== 200) reject(new KeysProblem(`answered with status ${statusCode}`, statusCode));
        else if (encoding !== 'identity') reject(new KeysProblem('answered with a compressed body'));
        else {
          collect(response).then(resolve, reject);
          return;
        }
        request.destroy();
      });
      request.on('error', reject);
    });
}

async function collect(response: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.length;
    if (length > FETCH_MAX_BYTES) throw new KeysProblem(`answered with more than ${FETCH_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
