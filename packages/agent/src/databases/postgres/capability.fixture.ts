import type {
  Capability,
  CapabilityLimits,
  DatabaseConfig,
  ParamSchema,
  ResultType,
} from '../../config/agent-config.ts';
import type { Database, Query, QueryCall, QueryResult } from '../database.ts';

const position = { line: 1, column: 1 };

export interface CapabilityOptions {
  readonly name?: string;
  readonly params?: Readonly<Record<string, ParamSchema>>;
  readonly result?: Readonly<Record<string, ResultType>>;
  readonly limits?: Partial<CapabilityLimits>;
  readonly allowFunctions?: readonly string[];
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
    exposeInOpenapi: true,
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
  changes: Partial<DatabaseConfig> = {},
): DatabaseConfig {
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
    ...changes,
  };
}

/** The verified query, or an error that lists the faults. */
export async function queryOf(database: Database, capability: Capability): Promise<Query> {
  const { queries, faults } = await database.verify([capability]);
  const query = queries.get(capability.name);
  if (query === undefined) throw new Error(JSON.stringify(faults, undefined, 2));
  return query;
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
