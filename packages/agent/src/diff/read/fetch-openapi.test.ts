import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { fetchOpenApi } from './fetch-openapi.ts';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function serve(listener: Parameters<typeof createServer>[1]): Promise<URL> {
  server = createServer(listener ?? (() => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  return new URL(`http://127.0.0.1:${address.port}/openapi.json`);
}

test('an answer without an end is left', async () => {
  const url = await serve((_request, response) => {
    const piece = Buffer.alloc(1_048_576, ' ');
    const write = (): void => {
      while (response.write(piece));
    };
    response.on('drain', write);
    write();
  });
  expect(await fetchOpenApi(url, 'key')).toEqual({
    problem: expect.stringMatching(/^answers more than 64 MB/),
  });
});

test('the key goes to no other address', async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    asked.push(request.url);
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  expect(await fetchOpenApi(url, 'key')).toEqual({ problem: expect.stringMatching(/^leads elsewhere/) });
  expect(asked).toEqual(['/openapi.json']);
});
