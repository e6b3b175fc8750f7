import type { Capability, CapabilityLimits, ParamSchema, ResultType } from '../../capabilities/model.ts';
import type { QueryCall } from '../driver/driver.ts';
import type { Statement } from './dialect.testing.ts';

export interface CapabilityOptions {
  readonly name?: string;
  readonly params?: Readonly<Record<string, ParamSchema>>;
  readonly result?: Readonly<Record<string, ResultType>>;
  readonly notNull?: readonly string[];
  readonly limits?: Partial<CapabilityLimits>;
}

/** One whose parts have each a line of their own: the SQL line 1, parameters from 100, fields from 200. */
export function capabilityOf(
  statement: Statement | string,
  { name = 'sample', params = {}, result = { a: 'integer' }, notNull = [], limits }: CapabilityOptions = {},
): Capability {
  const { sql, allowFunctions = [] } = typeof statement === 'string' ? { sql: statement } : statement;
  return {
    name,
    description: '',
    sql,
    params: Object.entries(params).map(([name, schema], index) => ({
      name,
      required: false,
      schema,
      position: { line: 100 + index, column: 3 },
    })),
    result: Object.entries(result).map(([name, type], index) => ({
      name,
      type,
      nullable: !notNull.includes(name),
      position: { line: 200 + index, column: 5 },
    })),
    limits: { timeoutMs: 30_000, maxRows: 1000, maxBytes: 1_048_576, onLimit: 'truncate', ...limits },
    allowFunctions,
    allowForeignTables: [],
    exposeInOpenapi: true,
    position: { line: 1, column: 3 },
    sqlPosition: { line: 1, column: 7 },
  };
}

export function callOf(values: QueryCall['values'] = {}, changes: Partial<QueryCall> = {}): QueryCall {
  return {
    values,
    apiKeyName: 'test-key',
    requestId: 'request-1',
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...changes,
  };
}

export function textOf(rows: Uint8Array): string {
  return Buffer.from(rows).toString('utf8');
}

/** The numbers from 1 to `count`. */
export function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
