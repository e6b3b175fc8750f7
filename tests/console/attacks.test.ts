import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createAgentSecret,
  startGateway,
  startService,
  temporaryFolder,
  testDatabase,
  type Service,
} from '@svc/testkit';
import type { Calls } from '../../packages/console/src/data.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../requirements/certificates.testing.ts';
import { childrenOf } from '../workers/workers.testing.ts';
import { askConsole, BEARER, CONSOLE_ENV, consoleUrl, dataOf } from './console.testing.ts';

const CAPABILITIES = `
capabilities:
  echo:
    description: Gives back its number
    sql: select :n as n from pg_sleep(:seconds)
    params:
      n: { type: integer, required: true }
      seconds: { type: number, default: 0 }
    policy: { timeout: 60s, allow_functions: [pg_sleep] }
    result:
      n: { type: integer }
`;
const CALL = '/api/v1/capabilities/echo';
const MAX_CONNECTIONS = 256;

/** All that is answered to these bytes until the connection ends, as the status of each answer. */
async function statusesOf(at: string, bytes: string): Promise<readonly number[]> {
  const { hostname, port } = new URL(at);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  let text = '';
  for await (const chunk of socket.setEncoding('latin1')) text += chunk;
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}

describe.each(['1', '2'])('with %s process that serves', (workers) => {
  let service: Service;
  let url: string;
  beforeAll(async () => {
    service = await startService({
      database: await testDatabase(),
      capabilities: CAPABILITIES,
      gatewayEnv: { ...CONSOLE_ENV, GATEWAY_WORKERS: workers },
    });
    url = await consoleUrl(service.gateway);
  });
  afterAll(() => service.stop());

  test('headers in any number are read, up to 16 KiB', { tags: ['console:calls'] }, async () => {
    const body = '{"n":7}';
    const smuggled = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const own = [
      `POST ${CALL} HTTP/1.1`,
      'Host: localhost',
      'Connection: close',
      'Content-Type: application/json',
    ];
    const last = [`X-API-Key: ${service.apiKeys['all']}`, 'Transfer-Encoding: chunked', '', smuggled];
    const message = (headers: readonly string[]): string => [...own, ...headers, ...last].join('\r\n');
    const many = Array.from({ length: 1100 }, () => 'A: 1');
    expect(await statusesOf(url, message(many))).toEqual([200]);
    expect(await statusesOf(service.url, message(many))).toEqual([200]);
    const large = [`A: ${'1'.repeat(17_000)}`];
    expect(await statusesOf(url, message(large))).toEqual([431]);
    expect(await statusesOf(service.url, message(large))).toEqual([431]);
    const { calls } = await dataOf<Calls>(url, 'calls');
    expect(
      calls.filter(({ capability }) => capability === 'echo').map(({ http_status }) => http_status),
    ).toEqual([200, 200]);
  });
});

describe.each<['SIGKILL' | 'SIGSTOP', string]>([
  ['SIGKILL', 'dies'],
  ['SIGSTOP', 'stands still'],
])('%s: when a worker %s', (signal) => {
  const options = { tags: ['console:workers'], timeout: 90_000 };
  test('calls through the console end with an error', options, async () => {
    const service = await startService({
      database: await testDatabase(),
      capabilities: CAPABILITIES,
      gatewayEnv: { ...CONSOLE_ENV, GATEWAY_WORKERS: '2' },
    });
    try {
      const url = await consoleUrl(service.gateway);
      const headers = {
        ...BEARER,
        'Content-Type': 'application/json',
        'X-API-Key': service.apiKeys['all'] ?? '',
      };
      const call = (seconds: number): Promise<number> =>
        askConsole(`${url}${CALL}`, headers, {
          method: 'POST',
          body: JSON.stringify({ n: 1, seconds }),
        }).then(({ status }) => status);
      // In turn to both workers.
      const before = [call(40), call(40)];
      await expect.poll(() => dataOf(url, 'agents')).toMatchObject({ agents: [{ in_flight: 2 }] });
      const [worker = 0] = await childrenOf(service.gateway.pid);
      const began = performance.now();
      process.kill(worker, signal);
      const after = Array.from({ length: 6 }, () => call(0));
      const [ended, ...statuses] = await Promise.all([Promise.race(before), ...after]);
      expect(performance.now() - began).toBeLessThan(30_000);
      expect([502, 503, 504]).toContain(ended);
      for (const status of statuses) expect([200, 502, 503, 504]).toContain(status);
      await expect.poll(() => call(0), { timeout: 30_000 }).toBe(200);
    } finally {
      await service.stop();
    }
  });
});

describe.each(['http', 'https'])('by %s', (scheme) => {
  test(
    'connections that never end a request keep no operator out',
    { tags: ['console:access'] },
    async () => {
      const folder = await temporaryFolder('console-flood');
      const files = { cert: join(folder.path, 'cert.pem'), key: join(folder.path, 'key.pem') };
      await writeFile(files.cert, CERTIFICATE);
      await writeFile(files.key, CERTIFICATE_KEY);
      const secret = createAgentSecret();
      const { process: gateway } = await startGateway({
        ...CONSOLE_ENV,
        GATEWAY_ADDR: '127.0.0.1:0',
        GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
        GATEWAY_API_KEYS_JSON: '[]',
        ...(scheme === 'https' && { GATEWAY_TLS_CERT_FILE: files.cert, GATEWAY_TLS_KEY_FILE: files.key }),
      });
      const url = await consoleUrl(gateway);
      const { hostname, port } = new URL(url);
      const dripping: Socket[] = [];
      let open = 0;
      const dial = async (text: string): Promise<Socket> => {
        const socket =
          scheme === 'https'
            ? connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false })
            : connect(Number(port), hostname);
        socket.on('error', () => {});
        dripping.push(socket);
        await once(socket, scheme === 'https' ? 'secureConnect' : 'connect');
        open++;
        socket.once('close', () => open--);
        socket.write(text);
        return socket;
      };
      try {
        const request = `GET /console/data/overview HTTP/1.1\r\nHost: localhost\r\n`;
        const operator = await dial(`${request}Authorization: ${BEARER['Authorization']}\r\n\r\n`);
        const [answer] = await once(operator, 'data');
        expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
        for (let at = 0; at < MAX_CONNECTIONS + 10; at++) await dial(request);
        expect((await askConsole(`${url}/console/data/overview`, BEARER)).status).toBe(200);
        await expect.poll(() => open).toBe(MAX_CONNECTIONS - 1);
        // The connection that has shown the token is older than all of them.
        operator.write(`${request}Authorization: ${BEARER['Authorization']}\r\n\r\n`);
        const [again] = await once(operator, 'data');
        expect(String(again)).toMatch(/^HTTP\/1\.1 200 /);
      } finally {
        for (const socket of dripping) socket.destroy();
        await gateway.stop();
        await folder.remove();
      }
    },
  );
});
