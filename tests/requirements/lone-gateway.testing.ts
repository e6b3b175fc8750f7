import { request as httpRequest } from 'node:http';
import {
  createAgentSecret,
  gatewaySettings,
  startGateway,
  type RunningProcess,
  type StartedGateway,
} from '@svc/testkit';
import { parseAnswer, type RawAnswer } from './raw-http.testing.ts';

/** An undefined variable is absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The gateway's executable without any agent. */
export interface LoneGateway extends StartedGateway {
  /** One request on a connection of its own; `Host` is added, and `Content-Length` with a body. */
  ask(method: string, path: string, options?: AskOptions): Promise<RawAnswer>;
  /** The records of requests, once that many have been written. */
  requests(count: number): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export const CALL = '/api/v1/capabilities/get';
export const JSON_TYPE: Readonly<Record<string, string>> = { 'Content-Type': 'application/json' };

/** Settings that every gateway needs, over which `env` is laid. */
export async function gatewayEnvironment(
  records: readonly unknown[] = [],
  env: Environment = {},
): Promise<Environment> {
  const { agent_public_key: publicKey } = createAgentSecret();
  return { ...gatewaySettings(publicKey, records), ...env };
}

export async function startLoneGateway(...started: Parameters<typeof startGateway>): Promise<LoneGateway> {
  const gateway = await startGateway(...started);
  const { port, process } = gateway;
  return {
    ...gateway,
    ask: (method, path, asked) => askOnce(port, method, path, asked),
    async requests(count) {
      let seen = 0;
      await process.waitForLine((line) => {
        if (line.includes('"event":"request"')) seen++;
        return seen === count;
      });
      return recordsOf(process).filter((record) => record['event'] === 'request');
    },
  };
}

/** What the process has logged so far. Throws at a line that is no JSON object. */
export function recordsOf(process: RunningProcess): readonly Readonly<Record<string, unknown>>[] {
  return process
    .output('stdout')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const record: Readonly<Record<string, unknown>> = JSON.parse(line);
      return record;
    });
}

/** By Node's own client, so that it is no parser of ours that finds the answer well formed. */
export function askOnce(
  port: number,
  method: string,
  path: string,
  { headers = {}, body }: AskOptions = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { rawHeaders } = response;
        const lines = [`HTTP/1.1 ${response.statusCode ?? 0} -`];
        for (let at = 0; at + 1 < rawHeaders.length; at += 2)
          lines.push(`${rawHeaders[at] ?? ''}: ${rawHeaders[at + 1] ?? ''}`);
        const head = parseAnswer(`${lines.join('\r\n')}\r\n\r\n`);
        resolve({ ...head, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The error code in an answer's body, which must have exactly the two fields of an error. */
export function codeOf(answer: RawAnswer): string {
  const [, code] = /^\{"error":\{"code":"([A-Z_]+)","message":"(?:[^"\\]|\\.)+"\}\}$/.exec(answer.body) ?? [];
  if (code === undefined) throw new Error(`not an error body: ${answer.status} ${answer.body}`);
  return code;
}
