import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { RunningProcess } from '@svc/testkit';

export const TOKEN: string = randomBytes(32).toString('base64url');
export const BEARER: Readonly<Record<string, string>> = { Authorization: `Bearer ${TOKEN}` };
export const CONSOLE_ENV: Readonly<Record<string, string>> = {
  GATEWAY_CONSOLE_ADDR: '127.0.0.1:0',
  GATEWAY_CONSOLE_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex'),
};

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Where the console of a gateway listens. */
export async function consoleUrl(gateway: RunningProcess): Promise<string> {
  const line = await gateway.waitForLine((text) => text.includes('"event":"console_listening"'));
  const { url }: { readonly url: string } = JSON.parse(line);
  return url.replace('/console/', '');
}

/** Sends any headers, also those that `fetch` makes by itself. */
export async function askConsole(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  { method = 'GET', body = '' }: { readonly method?: string; readonly body?: string } = {},
): Promise<ConsoleAnswer> {
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const request = send(url, { method, headers, agent: false, rejectUnauthorized: false });
  request.end(body);
  const [response] = await once(request, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

/** What a data endpoint says, with the right token. */
export async function dataOf<Data = Readonly<Record<string, unknown>>>(
  url: string,
  name: string,
): Promise<Data> {
  const { status, text } = await askConsole(`${url}/console/data/${name}`, BEARER);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}
