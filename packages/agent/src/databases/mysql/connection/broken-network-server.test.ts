import { randomInt } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createRandom, executeMysql, startFaultProxy, startGarblingProxy } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { callOf, capabilityOf, numbers } from '../../conformance/capability.testing.ts';
import type { TestServer } from '../../conformance/dialect.testing.ts';
import { openDriver } from '../../conformance/tested-driver.testing.ts';
import { driverOf } from '../../drivers.ts';
import { configure } from '../config/config.ts';
import { dialectOf } from '../conformance.fixture.ts';
import { mysqlServers } from '../servers.testing.ts';
import { unavailable } from './server-errors.ts';
import { openSession } from './session.ts';

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const driver = driverOf(address.kind);
  let server: TestServer;
  beforeAll(async () => {
    server = await dialectOf(address).start();
  });
  afterAll(() => server.stop());

  /** Forwards to the server from this address; what comes back only as long as `passes` says so. */
  async function forward(host: string, passes: (chunks: number) => boolean): Promise<number> {
    const sockets = new Set<Socket>();
    const listener = createServer((client) => {
      const target = connect(address.port, address.host);
      let chunks = 0;
      for (const socket of [client, target]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => (socket === client ? target : client).destroy());
      }
      client.pipe(target);
      target.on('data', (chunk) => {
        chunks += 1;
        if (passes(chunks)) client.write(chunk);
      });
    });
    await new Promise<void>((resolve) => {
      listener.listen(0, host, resolve);
    });
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (listener.address() as AddressInfo).port;
  }

  test('a network that falls silent behind the handshake holds no connection up for ever', async () => {
    let most = 3;
    const port = await forward('127.0.0.1', (chunks) => chunks <= most);
    const { section, texts } = server.reader;
    const reader = { section: { ...section, port } as typeof section, texts };
    most = Infinity;
    const tested = await openDriver(driver, (...of) => driver.connect(...of), { reader }, 1);
    onTestFinished(tested.close);
    const query = await tested.prepare(capabilityOf('select 1 as a'));
    most = 3;
    await expect(query.run(callOf({}, { timeoutMs: 60_000 }))).rejects.toMatchObject({ kind: 'unavailable' });
    most = Infinity;
    expect((await query.run(callOf())).count).toBe(1);
  });

  test('a session that is cleaned up when the network falls silent is given up', async () => {
    const proxy = await startFaultProxy({ target: address });
    onTestFinished(() => proxy.close());
    const { section, texts } = server.reader;
    const reader = { section: { ...section, host: proxy.host, port: proxy.port } as typeof section, texts };
    const tested = await openDriver(driver, (...of) => driver.connect(...of), { reader }, 1);
    onTestFinished(tested.close);
    const query = await tested.prepare(
      capabilityOf({ sql: 'select slowly(0) as a', allowFunctions: ['slowly'] }),
    );
    expect((await query.run(callOf())).count).toBe(1);
    proxy.strand();
    expect((await query.run(callOf({}, { timeoutMs: 60_000 }))).count).toBe(1);
  });

  test('when one session falls silent, idle ones that were not heard of since are ended, too', async () => {
    const proxy = await startFaultProxy({ target: address });
    onTestFinished(() => proxy.close());
    const { section, texts } = server.reader;
    const reader = { section: { ...section, host: proxy.host, port: proxy.port } as typeof section, texts };
    const tested = await openDriver(driver, (...of) => driver.connect(...of), { reader }, 3);
    onTestFinished(tested.close);
    const slow = await tested.prepare(capabilityOf(dialectOf(address).slow(200)));
    const quick = await tested.prepare(capabilityOf('select 1 as a'));
    await Promise.all(numbers(3).map(() => slow.run(callOf())));
    await expect.poll(() => tested.database.connections.idle).toBe(3);
    proxy.strand();
    await expect(slow.run(callOf({}, { timeoutMs: 1500 }))).rejects.toMatchObject({ kind: 'timeout' });
    await expect.poll(() => tested.database.connections.idle).toBeLessThan(2);
    expect((await quick.run(callOf({}, { timeoutMs: 5000 }))).count).toBe(1);
  });

  const seed = randomInt(2 ** 31);
  test(`bytes that are changed on the way cost their connections alone, with seed ${seed}`, async () => {
    const random = createRandom(seed);
    const { kind, user, password } = address;
    const open = async ({ host, port }: { host: string; port: number }): Promise<void> => {
      const config = configure({ driver: kind, host, port, name: 'information_schema', user }, { password });
      (await openSession(config, new AbortController().signal)).destroy();
    };
    for (const share of [0.003, 0.03, 0.3, 1]) {
      const proxy = await startGarblingProxy({ target: address, share, random });
      await Promise.allSettled(numbers(40).map(() => open(proxy)));
      await proxy.close();
    }
    await expect(open(address)).resolves.toBeUndefined();
  });

  test('verify-full compares an address, too, and says what is wrong with a certificate', async () => {
    const port = await forward('127.0.0.2', () => true);
    const adviceOf = async (host: string, at: number, certificate?: string): Promise<string> => {
      const { kind, user, password } = address;
      const section = { driver: kind, host, port: at, name: 'information_schema', user };
      const ca = certificate === undefined ? {} : { ssl_root_cert: certificate };
      const config = configure({ ...section, sslmode: 'verify-full' }, { password, ...ca });
      try {
        (await openSession(config, new AbortController().signal)).destroy();
        return 'connected';
      } catch (error) {
        return unavailable(error).advice ?? '';
      }
    };
    const { certificate } = address;
    expect(await adviceOf('127.0.0.1', address.port, certificate)).toBe('connected');
    expect(await adviceOf('localhost', address.port, certificate)).toBe('connected');
    expect(await adviceOf('127.0.0.2', port, certificate)).toContain('for another name');
    expect(await adviceOf('127.0.0.1', address.port)).toContain('ssl_root_cert');
  });

  test('an account that may not log in, and a socket that is not there, are told by their names', async () => {
    const user = `shut_${process.pid}`;
    const execute = (sql: string): ReturnType<typeof executeMysql> => executeMysql(address, sql);
    await execute(`create user ${user}@'%' identified by 'p' password expire`);
    onTestFinished(async () => {
      await execute(`drop user ${user}@'%'`);
    });
    const { host, port, kind } = address;
    const adviceOf = async (changes: object): Promise<string> => {
      const section = { driver: kind, host, port, name: 'information_schema', user };
      const config = configure({ ...section, ...changes }, { password: 'p' });
      const error: unknown = await openSession(config, new AbortController().signal).catch(
        (reason: unknown) => reason,
      );
      return unavailable(error).advice ?? '';
    };
    expect(await adviceOf({})).toContain('has expired');
    await execute(`alter user ${user}@'%' identified by 'p' account lock`);
    expect(await adviceOf({})).toContain('is locked');
    expect(await adviceOf({ host: '/no/such/socket' })).toContain('no such socket');
  });
});
