import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Capability } from '../../capabilities/model.ts';
import type {
  Database,
  DatabaseChange,
  DatabaseConfig,
  Driver,
  Query,
  QueryCall,
  VerifierDatabase,
} from '../driver/driver.ts';
import { callOf, textOf } from './capability.testing.ts';
import type { Account, Dialect, TestServer } from './dialect.testing.ts';

/** The driver's own, or what runs the calls of a driver elsewhere. */
export type Connect = (
  ...of: Parameters<Driver['connect']>
) => ReturnType<Driver['connect']> | Promise<ReturnType<Driver['connect']>>;

/** What the parts of the suite are given. */
export interface Suite {
  readonly driver: Driver;
  readonly connect: Connect;
  readonly dialect: Dialect;
  /** The server that all tests share which do it no harm. */
  readonly server: TestServer;
  /** The driver, opened once with four connections for all tests that do not mind what ran on them before. */
  readonly shared: () => TestedDriver;
  /** Opens what runs for the running test, at whose end it is closed; what verifies is that of `shared`. */
  readonly open: (maxConnections: number) => Promise<TestedDriver>;
}

/** A driver between its two uses: what verifies, and what runs. */
export interface TestedDriver {
  readonly config: DatabaseConfig;
  readonly verifier: VerifierDatabase;
  readonly database: Database;
  /** What `database` has told of losses. */
  readonly changes: readonly DatabaseChange[];
  /** The query of a capability that passes verification. */
  readonly prepare: (capability: Capability) => Promise<Query>;
  /** The rows of one call as the JSON text that leaves. */
  readonly rowsOf: (capability: Capability, values?: QueryCall['values']) => Promise<string>;
  readonly close: () => Promise<void>;
}

export function configOf(
  driver: Driver,
  { section, texts }: Account,
  maxConnections: number,
): DatabaseConfig {
  return { ...driver.configure(section, texts, resolve), maxConnections };
}

export async function openDriver(
  driver: Driver,
  connect: Connect,
  { reader }: Pick<TestServer, 'reader'>,
  maxConnections: number,
  shared?: VerifierDatabase,
): Promise<TestedDriver> {
  // Both are handed from the start-up process to the agent.
  const config = structuredClone(configOf(driver, reader, maxConnections));
  const verifier = shared ?? (await driver.loadVerifier()).open(config);
  const changes: DatabaseChange[] = [];
  const database = await connect(config, (change) => {
    if ('isUp' in change) changes.push(change);
  });

  async function prepare(capability: Capability): Promise<Query> {
    const { prepared, faults } = await verifier.verify([capability]);
    const [first] = prepared;
    if (first === undefined) throw new Error(JSON.stringify(faults, undefined, 2));
    return database.prepare(structuredClone(first));
  }

  return {
    config,
    verifier,
    database,
    changes,
    prepare,
    rowsOf: async (capability, values = {}) => {
      const { rows } = await (await prepare(capability)).run(callOf(values));
      return textOf(rows);
    },
    close: async () => {
      await Promise.all([...(shared === undefined ? [verifier.close()] : []), database.close()]);
    },
  };
}

/** Opens the driver on a server of the test's own; both are closed when the test is over. */
export async function openAlone(
  { driver, connect, dialect }: Suite,
  maxConnections: number = 4,
): Promise<TestedDriver & { readonly server: TestServer }> {
  const server = await dialect.start();
  const tested = await openDriver(driver, connect, server, maxConnections);
  onTestFinished(async () => {
    await tested.close();
    await server.stop();
  });
  return { ...tested, server };
}
