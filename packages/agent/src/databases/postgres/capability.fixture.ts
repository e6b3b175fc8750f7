import type { Fault } from '../../capabilities/fault.ts';
import type { Capability, CapabilityLimits, ParamSchema, ResultType } from '../../capabilities/model.ts';
import type { PostgresConfig } from './config/config.ts';
import type {
  AccountFinding,
  AccountNote,
  Database,
  DatabaseChange,
  Query,
  QueryCall,
  QueryResult,
  SharingEnded,
  Verification,
} from '../driver/driver.ts';
import { auditAccount, describeAccount } from './audit/account.ts';
import { createPool, ping } from './connect.ts';
import { createQuery } from './execute/run-query.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { bodyWarnings } from './verify/grants/body-warnings.ts';
import { foreignTableWarnings } from './verify/functions/foreign-tables.ts';
import { viewWarnings } from './verify/view-warnings.ts';
import { verifyCapabilities } from './verify/verify-capabilities.ts';

const position = { line: 1, column: 1 };

export interface CapabilityOptions {
  readonly name?: string;
  readonly params?: Readonly<Record<string, ParamSchema>>;
  readonly result?: Readonly<Record<string, ResultType>>;
  readonly limits?: Partial<CapabilityLimits>;
  readonly allowFunctions?: readonly string[];
  readonly allowForeignTables?: readonly string[];
}

export function capabilityOf(sql: string, options: CapabilityOptions = {}): Capability {
  const result: Readonly<Record<string, ResultType>> = options.result ?? { a: 'integer' };
  return {
    name: options.name ?? 'sample',
    description: '',
    sql,
    params: Object.entries(options.params ?? {}).map(([name, schema]) => ({
      name,
      required: false,
      schema,
      position,
    })),
    result: Object.entries(result).map(([name, type]) => ({ name, type, nullable: true, position })),
    limits: { timeoutMs: 5000, maxRows: 1000, maxBytes: 1_048_576, onLimit: 'truncate', ...options.limits },
    allowFunctions: options.allowFunctions ?? [],
    allowForeignTables: options.allowForeignTables ?? [],
    exposeInOpenapi: true,
    position,
    sqlPosition: position,
  };
}

export function configOf(
  server: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly name: string;
  },
  changes: Partial<PostgresConfig> = {},
): PostgresConfig {
  const { host, port, user, password, name } = server;
  return {
    driver: 'postgres',
    host,
    port,
    name,
    user,
    password,
    sslmode: 'prefer',
    maxConnections: 4,
    requireReadonlyAccount: false,
    transactions: 'shared',
    ...changes,
  };
}

/** The verified query, or an error that lists the faults. */
export async function queryOf(database: TestedDatabase, capability: Capability): Promise<Query> {
  const { prepared, faults } = await database.verify([capability]);
  const [verified] = prepared;
  if (verified === undefined) throw new Error(JSON.stringify(faults, undefined, 2));
  return database.prepare(verified);
}

export function callOf(
  values: Readonly<Record<string, unknown>> = {},
  changes: Partial<QueryCall> = {},
): QueryCall {
  return {
    values,
    apiKeyName: 'test-key',
    requestId: 'request-1',
    timeoutMs: 5000,
    signal: new AbortController().signal,
    ...changes,
  };
}

export function textOfRows(result: QueryResult): string {
  return Buffer.from(result.rows).toString('utf8');
}

/** What verifies and what runs, over one pool. */
export interface TestedDatabase extends Database {
  verify(capabilities: readonly Capability[]): Promise<Verification<PreparedQuery>>;
  findWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]>;
  auditAccount(capabilities: readonly Capability[]): Promise<readonly AccountFinding[]>;
  describeAccount(capabilities: readonly Capability[]): Promise<readonly AccountNote[]>;
}

export function openPostgres(
  config: PostgresConfig,
  onChange?: (change: DatabaseChange | SharingEnded) => void,
): TestedDatabase {
  const pool = createPool(config, onChange);
  return {
    ping: () => ping(pool),
    verify: (capabilities) => verifyCapabilities(pool, capabilities, config.transactions),
    findWarnings: async (capabilities) => [
      ...(await viewWarnings(pool, capabilities)),
      ...(await foreignTableWarnings(pool, capabilities)),
      ...(await bodyWarnings(pool, capabilities)),
    ],
    auditAccount: (capabilities) => auditAccount(pool, capabilities),
    describeAccount: (capabilities) => describeAccount(pool, capabilities),
    prepare: (verified: PreparedQuery) => createQuery(pool, verified),
    forget: () => {},
    transactions: pool.sharedCalls.counts,
    get connections() {
      return pool.connections;
    },
    get isUp() {
      return pool.isUp;
    },
    close: () => pool.close(),
  };
}
