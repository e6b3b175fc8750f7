import { executeMysql } from '@svc/testkit';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callOf, capabilityOf, numbers } from '../../conformance/capability.testing.ts';
import { openDriver } from '../../conformance/tested-driver.testing.ts';
import { driverOf } from '../../drivers.ts';
import { dialectOf } from '../conformance.fixture.ts';
import { mysqlServers } from '../servers.testing.ts';

const MOST = 4;

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  test('queries that are cancelled together are all ended over one connection more', async () => {
    const driver = driverOf(address.kind);
    const dialect = dialectOf(address);
    const server = await dialect.start();
    onTestFinished(() => server.stop());
    const tested = await openDriver(driver, (...of) => driver.connect(...of), server, MOST);
    onTestFinished(tested.close);
    const query = await tested.prepare(capabilityOf(dialect.slow(30_000)));
    await tested.verifier.close();
    const user = String(Reflect.get(server.reader.section, 'user'));
    await expect.poll(() => server.sessions()).toBe(0);
    await executeMysql(address, `alter user '${user}'@'%' with max_user_connections ${MOST + 1}`);
    const abort = new AbortController();
    const calls = numbers(MOST).map(() =>
      query.run(callOf({}, { signal: abort.signal, timeoutMs: 30_000 })).catch((error: unknown) => error),
    );
    await expect.poll(() => server.slowSessions()).toBe(MOST);
    abort.abort();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ kind: 'cancelled' });
    await expect.poll(() => server.busySessions()).toBe(0);
  });
});
