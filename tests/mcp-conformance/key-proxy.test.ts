import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startKeyProxy, type KeyProxy } from './key-proxy.ts';

/** A server that shows what it got, and sends its answer in two parts. */
let seen: IncomingMessage | undefined;
let body = '';
let gone: Promise<unknown> = Promise.resolve();
const server = createServer((incoming, outgoing) => {
  seen = incoming;
  body = '';
  gone = once(outgoing, 'close');
  incoming.setEncoding('utf8').on('data', (text: string) => (body += text));
  outgoing.writeHead(207, ['X-Twice', 'a', 'X-Twice', 'b']);
  outgoing.write('first');
  if (incoming.url !== '/endless') incoming.once('end', () => outgoing.end('second'));
});
let proxy: KeyProxy;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  proxy = await startKeyProxy(typeof address === 'object' ? (address?.port ?? 0) : 0, 'the-key');
});
afterAll(async () => {
  await proxy.close();
  server.closeAllConnections();
  server.close();
});

async function send(path: string, text: string, headers: readonly string[]): Promise<IncomingMessage> {
  const outgoing = request(`${proxy.url}${path}`, {
    method: 'POST',
    headers: [...headers, 'Content-Length', String(text.length)],
    setHost: false,
    agent: false,
  });
  outgoing.end(text);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  if (answer === undefined) throw new Error('there was no answer');
  return answer;
}

test('everything arrives as it was sent, with the key', async () => {
  const headers = [
    'Host',
    'evil.example.com',
    'ORIGIN',
    'http://evil.example.com',
    'Accept',
    'a/b',
    'Accept',
    'c/d',
  ];
  const answer = await send('/mcp?x=%20', 'hello', headers);
  const parts: string[] = await answer.setEncoding('utf8').toArray();
  expect(parts.join('')).toBe('firstsecond');
  expect(answer.statusCode).toBe(207);
  expect(answer.headersDistinct['x-twice']).toEqual(['a', 'b']);
  expect(seen?.url).toBe('/mcp?x=%20');
  expect(seen?.rawHeaders.slice(0, headers.length)).toEqual(headers);
  expect(seen?.headersDistinct['x-api-key']).toEqual(['the-key']);
  expect(body).toBe('hello');
});

test('an answer is passed on while it comes, and ended when the client leaves', async () => {
  const answer = await send('/endless', '', ['Host', 'localhost']);
  const [first] = await once(answer, 'data');
  expect(String(first)).toBe('first');
  answer.destroy();
  await gone;
});
