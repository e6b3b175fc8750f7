import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { driverOf } from '../drivers.ts';
import type { Dialect, TestServer } from './dialect.testing.ts';
import { describeAvailability } from './availability.testing.ts';
import { describeCalls } from './calls.testing.ts';
import { describeFilters } from './clauses/filters.testing.ts';
import { describePages } from './clauses/pages.testing.ts';
import { describeFailures } from './failures.testing.ts';
import { describeLimits } from './limits.testing.ts';
import { describeParameters } from './parameters.testing.ts';
import { describePlaces } from './places.testing.ts';
import { describeResults } from './results.testing.ts';
import { describeStopping } from './stopping.testing.ts';
import { openDriver, type Connect, type Suite, type TestedDriver } from './tested-driver.testing.ts';
import { describeVerification } from './verification.testing.ts';

/**
 * The promises that every driver keeps, tested through `driver.ts` alone.
 *
 * A new kind of database calls it in a `conformance.test.ts` of its folder; `dialect.testing.ts` says what a dialect is.
 * ARCHITECTURE.md lists what else a new database needs. What only this kind of database has, such as its own ways to write, its types and its faults, is tested in its folder
 * besides. A promise that holds for all of them belongs here, with a field of `Dialect` where their SQL differs.
 */
export function describeDriver(
  name: string,
  dialect: Dialect,
  /** What runs the calls, where that is not the driver in this process. */
  connect: Connect = (...of) => driverOf(name).connect(...of),
): void {
  describe(`the driver ${name}`, () => {
    const driver = driverOf(name);
    let server: TestServer | undefined;
    let shared: TestedDriver | undefined;
    beforeAll(async () => {
      server = await dialect.start();
      shared = await openDriver(driver, connect, server, 4);
    });
    afterAll(async () => {
      await shared?.close();
      await server?.stop();
    });

    const suite: Suite = {
      driver,
      connect,
      dialect,
      get server() {
        if (server === undefined) throw new Error('the server has not been started');
        return server;
      },
      shared: () => {
        if (shared === undefined) throw new Error('the driver has not been opened');
        return shared;
      },
      open: async (maxConnections) => {
        const { verifier } = suite.shared();
        const tested = await openDriver(driver, connect, suite.server, maxConnections, verifier);
        onTestFinished(tested.close);
        return tested;
      },
    };
    describeVerification(suite);
    describeResults(suite);
    describeParameters(suite);
    describePlaces(suite);
    describeLimits(suite);
    describeFilters(suite);
    describePages(suite);
    describeCalls(suite);
    describeFailures(suite);
    describeStopping(suite);
    describeAvailability(suite);
  });
}
