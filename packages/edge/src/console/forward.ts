import {
  request as ask,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import { pipeline } from 'node:stream';

export interface ForwardOptions {
  readonly to: Pick<RequestOptions, 'agent' | 'host' | 'port' | 'socketPath'>;
  /** Headers for that server, in turn names and values. A sender cannot set them. */
  readonly added?: readonly string[];
  /** Answers a request whose body could be read in two ways. */
  readonly refuse: (response: ServerResponse, message: string) => void;
  /** Answers when the server is away, or goes away before its answer. */
  readonly onAway: RequestListener;
}

/**
 * Headers of one connection (RFC 9110, section 7.6.1), and those that say where a body ends: the next connection gets
 * its own.
 */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Forwards a request and its answer. The listener that read the request must have no bound on the number of headers
 * (`maxHeadersCount`): Node.js leaves out those beyond it without a word.
 */
export function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { to, added = [], refuse, onAway }: ForwardOptions,
): void {
  const { method, url: path, rawHeaders, headers } = request;
  if (!hasPlainBody(request)) {
    refuse(response, 'the transfer encoding is not supported');
    return;
  }
  const forwarded = [...endToEnd(rawHeaders, added), ...added];
  // Without a length the body of a GET would go out bare, and the server would take it for the next request.
  if (headers['transfer-encoding'] !== undefined) forwarded.push('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] !== undefined)
    forwarded.push('Content-Length', headers['content-length']);
  // The server gets the host that the sender asked for.
  const asked = ask({ ...to, method, path, setHost: false, headers: forwarded });
  asked.maxHeadersCount = 0;
  asked.once('response', (answer) => {
    const length = answer.headers['content-length'];
    const own = length === undefined ? [] : ['Content-Length', length];
    response.writeHead(answer.statusCode ?? 502, [...endToEnd(answer.rawHeaders), ...own]);
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
}

/** Whether every server sees the same end of the body: it has a length, or comes in chunks and is not encoded. */
function hasPlainBody({ headersDistinct, httpVersion }: IncomingMessage): boolean {
  const { 'transfer-encoding': encodings, 'content-length': lengths = [] } = headersDistinct;
  if (encodings === undefined) return lengths.length <= 1;
  const [encoding = '', ...others] = encodings;
  return (
    encoding.toLowerCase() === 'chunked' &&
    others.length === 0 &&
    lengths.length === 0 &&
    httpVersion !== '1.0'
  );
}

/** Without what belongs to the connection by its name or by `Connection`, and without those of `replaced`. */
function endToEnd(raw: readonly string[], replaced: readonly string[] = []): string[] {
  const dropped = new Set([...OF_CONNECTION, ...namesOf(replaced)]);
  for (const [name, value] of pairs(raw)) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const option of value.split(',')) dropped.add(option.trim().toLowerCase());
  }
  return pairs(raw).flatMap((pair) => (dropped.has(pair[0].toLowerCase()) ? [] : pair));
}

function namesOf(headers: readonly string[]): readonly string[] {
  return pairs(headers).map(([name]) => name.toLowerCase());
}

function pairs(raw: readonly string[]): readonly (readonly [name: string, value: string])[] {
  return raw.flatMap((text, at) => (at % 2 === 0 ? [[text, raw[at + 1] ?? ''] as const] : []));
}
