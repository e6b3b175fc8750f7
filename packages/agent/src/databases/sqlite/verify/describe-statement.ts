import type { Capability, ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../describe-statement.ts';
import { namesOfParameters } from '../../sql/named-parameters.ts';
import { scanSql } from '../../sql/scanner.ts';
import { faultAt } from '../../sql/fault-at.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { lexicon } from './lexicon.ts';
import { readStatement } from './read-statement.ts';
import { judge } from './verify-capabilities.ts';

/** A parameter is proposed as text, and a column by what its table declares: SQLite itself knows types of values alone. */
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
  const judged = await judge(session, { text: result.read.text, allowFunctions: [] });
  if (!judged.ok) return { ok: false, faults: [faultAt(capability, { message: judged.problem })] };
  const fields = judged.columns.map((column) => ({
    name: column.name,
    type: proposedType(column.type ?? ''),
    nullable: true,
  }));
  return { ok: true, statement: { params, fields } };
}

/** By the words that SQLite goes by, too, when it stores a value; what it does not know is text. */
function proposedType(declared: string): ResultType {
  if (/^bool/i.test(declared)) return 'boolean';
  if (/int/i.test(declared)) return 'integer';
  if (/real|floa|doub|numeric|decimal/i.test(declared)) return 'number';
  if (/^(?:datetime|timestamp)/i.test(declared)) return 'datetime';
  return /^date$/i.test(declared) ? 'date' : 'string';
}
