import type { Capability, ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../describe-statement.ts';
import { namesOfParameters } from '../../sql/named-parameters.ts';
import { scanSql } from '../../sql/scanner.ts';
import type { MysqlSession } from '../connection/session.ts';
import { convertColumn, type Column } from './convert-column.ts';
import { lexicon } from './lexicon.ts';
import { readStatement } from './read-statement.ts';
import { prepared } from './verify-capabilities.ts';

/** The first that fits: a text may hold an array too, but that is for people to say. */
const TYPES: readonly ResultType[] = ['boolean', 'integer', 'number', 'date', 'datetime', 'string'];

/** The server says nothing of the types of parameters: each is proposed as text. */
export async function describeStatement(
  session: MysqlSession,
  name: string,
  sql: string,
): Promise<StatementDescription> {
  const scanned = scanSql(sql, lexicon);
  const names = scanned.ok ? namesOfParameters(scanned.tokens) : [];
  const position = { line: 1, column: 1 };
  const params = names.map((param) => ({
    name: param,
    required: true,
    schema: { type: 'string' as const },
    position,
  }));
  const capability: Capability = {
    name,
    description: '',
    sql,
    params,
    result: [],
    limits: { timeoutMs: 1000, maxRows: 1, maxBytes: 2, onLimit: 'truncate' },
    allowFunctions: [],
    exposeInOpenapi: false,
    position,
    sqlPosition: position,
  };
  const result = readStatement(capability);
  if (!result.ok) return result;
  const described = await prepared(session, capability, result.read.text, result.read);
  if (!described.ok) return described;
  return {
    ok: true,
    statement: {
      params: params.map(({ name: param, required, schema }) => ({ name: param, required, schema })),
      fields: described.columns.map((column) => ({
        name: column.name,
        type: typeOf(column, session.isMariaDb),
        nullable: true,
      })),
    },
  };
}

function typeOf(column: Column, isMariaDb: boolean): ResultType {
  return TYPES.find((type) => convertColumn({ type }, column, 'q.a', isMariaDb).ok) ?? 'object';
}
