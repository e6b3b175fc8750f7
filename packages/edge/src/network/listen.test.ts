import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { CannotListen, listen, type AcceptFailure } from './listen.ts';

test('resolves to the port that was chosen', async () => {
  const server = createServer();
  const { address, port } = await listen(server, { host: '127.0.0.1', port: 0 }, 'SETTING', () => {});
  expect(address).toBe('127.0.0.1');
  expect(port).toBeGreaterThan(0);
  server.close();
  await once(server, 'close');
});

test.each([
  ['192.0.2.1', 'this machine does not have that address'],
  ['no-such-host.invalid', /^(this machine does not know that host name|cannot listen: .+)$/],
])('rejects with the reason why it cannot listen on %s', async (host, reason) => {
  const refused: unknown = await listen(createServer(), { host, port: 0 }, 'SETTING', () => {}).catch(
    (error: unknown) => error,
  );
  if (!(refused instanceof CannotListen)) throw new Error('it listens');
  expect(refused).toMatchObject({ setting: 'SETTING', message: `SETTING: ${refused.reason}` });
  expect(refused.reason).toMatch(reason);
});

test('connections that cannot be accepted are reported once a second, and the next one is accepted', async () => {
  const server = createServer((socket) => socket.end());
  const failures: AcceptFailure[] = [];
  const { address, port } = await listen(server, { host: '127.0.0.1', port: 0 }, 'SETTING', (failure) =>
    failures.push(failure),
  );
  const failing = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' });
  // As Node emits it: on Linux its event loop recovers from most of these errors, and no test can cause the others.
  for (let times = 0; times < 100; times++) server.emit('error', failing);
  expect(failures).toEqual([{ address, port, message: 'accept EMFILE' }]);
  await once(connect(port, address).resume(), 'close');
  server.close();
  await once(server, 'close');
});
