import { once } from 'node:events';
import { createServer, request as ask, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createForward } from './forward.ts';

async function origin(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a body in chunks stays the body of its request, whatever the method', async () => {
  const seen: string[] = [];
  const gateway = createServer((request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => (length += chunk.length));
    request.on('end', () => {
      seen.push(`${request.method} ${request.url} ${length}`);
      response.end();
    });
  });
  const forward = createForward(await origin(gateway), (_request, response) => response.destroy());
  const front = createServer(forward.serve);
  const url = await origin(front);
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
  try {
    for (const method of ['GET', 'DELETE', 'POST']) {
      const headers = { 'Transfer-Encoding': 'chunked' };
      const sent = ask(`${url}/openapi.json`, { method, headers, agent: false });
      sent.end(smuggled);
      const [answer] = await once(sent, 'response');
      answer.resume();
      await once(answer, 'end');
    }
    expect(seen).toEqual(
      ['GET', 'DELETE', 'POST'].map((method) => `${method} /openapi.json ${smuggled.length}`),
    );
  } finally {
    forward.close();
    for (const server of [front, gateway]) {
      server.close();
      server.closeAllConnections();
    }
  }
});
