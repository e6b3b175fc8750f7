import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { connectToValkey } from './valkey-connection.ts';
import { takeLease } from './valkey-leases.ts';

let server: Server;
afterEach(() => server.close());

/** What a server says to everything that it is asked. */
async function answers(granted: string, aheadUs: string): Promise<number> {
  const text = (value: string): string => `$${value.length}\r\n${value}\r\n`;
  server = createServer((socket) => {
    socket.on('data', () => socket.write(`*2\r\n${text(granted)}${text(aheadUs)}`));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

test.each([
  ['1', '1e400'],
  ['0', '1000010'],
  ['0', '-1'],
  ['0', 'nan'],
  ['3', '0'],
  ['0.5', '0'],
])('%s tokens, and a bucket that is full in %s microseconds, are no lease', async (granted, aheadUs) => {
  const port = await answers(granted, aheadUs);
  const client = await connectToValkey(
    {
      host: '127.0.0.1',
      port,
      tls: false,
      username: undefined,
      password: undefined,
      database: 0,
      prefix: '',
    },
    1000,
    { answerBytes: 65_536 },
  );
  const lease = takeLease(client, 'bucket', { requestsPerSecond: 10, burst: 10 }, 1, 2);
  await expect(lease).rejects.toThrow('not a lease');
  client.destroy();
});
