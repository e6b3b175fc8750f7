import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { Readable } from 'node:stream';

/** `fetch` for servers whose certificates one authority has signed, without redirects: Node's own cannot be told which. */
export function trustingFetch(ca: string): typeof fetch {
  return async (input, init) => {
    const wanted = new Request(input, init);
    const body = Buffer.from(await wanted.arrayBuffer());
    const send = wanted.url.startsWith('https:') ? request : plainRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(
        wanted.url,
        { method: wanted.method, headers: Object.fromEntries(wanted.headers), ca, signal: wanted.signal },
        (incoming) => {
          const { statusCode = 0, rawHeaders } = incoming;
          const headers = new Headers();
          for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
            headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
          }
          const isEmpty = statusCode === 204 || statusCode === 304 || wanted.method === 'HEAD';
          const stream = isEmpty ? null : ReadableOf(incoming);
          resolve(new Response(stream, { status: statusCode, headers }));
          if (isEmpty) incoming.resume();
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  };
}

function ReadableOf(stream: Readable): ReadableStream {
  return Readable.toWeb(stream) as ReadableStream;
}
