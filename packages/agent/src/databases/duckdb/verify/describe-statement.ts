import type { Capability, ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../describe-statement.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { namesOfParameters } from '../../sql/named-parameters.ts';
import { scanSql } from '../../sql/scanner.ts';
import { lexicon } from '../engine/lexicon.ts';
import { readStatement } from './read-statement.ts';
import { judge } from './verify-capabilities.ts';
import { convertColumn } from './wrap-select.ts';

/** The first that fits. */
const TYPES: readonly ResultType[] = [
  'boolean',
  'integer',
  'number',
  'date',
  'datetime',
  'array',
  'object',
  'string',
];

/** Each parameter is proposed as text, which takes the type that DuckDB finds for it. */
export async function describeStatement(
  session: EngineSession,
  name: string,
  sql: string,
): Promise<StatementDescription> {
  const scanned = scanSql(sql, lexicon);
  const names = scanned.ok ? namesOfParameters(scanned.tokens) : [];
  const params = names
    .filter((param) => !param.startsWith('svc_'))
    .map((param) => ({ name: param, required: true, schema: { type: 'string' as const } }));
  const position = { line: 1, column: 1 };
  const capability: Capability = {
    name,
    description: '',
    sql,
    params: params.map((param) => ({ ...param, position })),
    result: [],
    limits: { timeoutMs: 1000, maxRows: 1, maxBytes: 2, onLimit: 'truncate' },
    allowFunctions: [],
    exposeInOpenapi: false,
    position,
    sqlPosition: position,
  };
  const result = readStatement(capability);
  if (!result.ok) return result;
  const found = await judge(session, capability, result.read);
  if (!found.ok) return found;
  const fields = found.judged.columns.map((column) => ({
    name: column.name,
    type: TYPES.find((type) => convertColumn(type, column.type, 'q.a').ok) ?? 'string',
    nullable: true,
  }));
  return { ok: true, statement: { params, fields } };
}
