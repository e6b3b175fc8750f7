import { testDatabase, type TestDatabase } from '@svc/testkit';
import { onTestFinished } from 'vitest';
import type { QueryCall, TransactionCounts } from '../../driver/driver.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  openPostgres,
  textOfRows,
  type CapabilityOptions,
  type TestedDatabase,
} from '../capability.fixture.ts';
import { DatabaseError } from '../../driver/errors.ts';

export interface SharingDatabase {
  readonly server: TestDatabase;
  readonly database: TestedDatabase & { readonly transactions: TransactionCounts };
  /** The capabilities that share no more. */
  readonly ended: readonly string[];
}

/** A database that a plain account reads, which no row-level security lets through. */
export async function openSharing(
  schema: string,
  { maxConnections = 1 }: { readonly maxConnections?: number } = {},
): Promise<SharingDatabase> {
  const server = await testDatabase({ sql: [schema] });
  const role = `${server.name}_reader`;
  await server.execute(`create role ${role} login password 'reader';
    grant usage on schema public to ${role}; grant select on all tables in schema public to ${role}`);
  const ended: string[] = [];
  const account = { ...server, user: role, password: 'reader' };
  const database = openPostgres(configOf(account, { maxConnections, sslmode: 'disable' }), (change) => {
    if ('sharingEnded' in change) ended.push(change.sharingEnded);
  });
  const { transactions } = database;
  if (transactions === undefined) throw new Error('the driver counts no transactions');
  onTestFinished(async () => {
    await database.close();
    await server.execute(`drop owned by ${role}; drop role ${role}`);
  });
  return { server, database: { ...database, transactions }, ended };
}

export interface Asked {
  readonly values?: Readonly<Record<string, unknown>>;
  readonly changes?: Partial<QueryCall>;
}

/** Each is the JSON of its rows, or the kind of its error. */
export type Answers = readonly string[];

export interface SharingCalls {
  /** Makes the calls in one turn of the event loop. */
  together(asked: readonly Asked[]): Promise<Answers>;
}

/** Throws unless verification finds that calls of the capability may share. Its latency is known. */
export async function sharingCalls(
  { database }: Pick<SharingDatabase, 'database'>,
  sql: string,
  options: CapabilityOptions & { readonly trainedBy?: Readonly<Record<string, unknown>> } = {},
): Promise<SharingCalls> {
  const { prepared, faults } = await database.verify([capabilityOf(sql, options)]);
  const [verified] = prepared;
  if (verified?.transaction?.form !== 'shared') {
    throw new Error(`may not share: ${JSON.stringify(verified?.transaction ?? faults)}`);
  }
  const query = database.prepare(verified);
  const run = ({ values, changes }: Asked): Promise<string> =>
    query.run(callOf(values, changes)).then(textOfRows, (error: unknown) => {
      if (error instanceof DatabaseError) return error.kind;
      throw error;
    });
  for (let quick = 0; quick < 8;) {
    const started = performance.now();
    await run({ values: options.trainedBy ?? {} });
    quick = performance.now() - started < 9 ? quick + 1 : 0;
  }
  return { together: (asked) => Promise.all(asked.map(run)) };
}

/** Makes them until all were answered by shared transactions: on a busy machine some are late, and sent alone. */
export async function inShared(
  { database }: Pick<SharingDatabase, 'database'>,
  calls: SharingCalls,
  asked: readonly Asked[],
): Promise<Answers> {
  for (;;) {
    const before = database.transactions.sharedCalls;
    const answers = await calls.together(asked);
    if (database.transactions.sharedCalls - before === asked.length) return answers;
  }
}

export function ids(count: number): readonly Asked[] {
  return Array.from({ length: count }, (_, index) => ({ values: { id: index + 1 } }));
}
