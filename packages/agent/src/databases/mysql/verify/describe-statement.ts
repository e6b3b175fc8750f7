import type { ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import { describedAs, undeclaredCapability } from '../../sql/undeclared-capability.ts';
import type { MysqlSession } from '../connection/session.ts';
import type { Column } from './columns.ts';
import { convertColumn } from './convert-column.ts';
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
  const capability = undeclaredCapability(name, sql, lexicon);
  const result = readStatement(capability, session.isMariaDb);
  if (!result.ok) return result;
  const described = await prepared(session, capability, result.read.text, result.read);
  if (!described.ok) return described;
  const fields = described.columns.map((column) => ({
    name: column.name,
    type: typeOf(column, session.isMariaDb),
  }));
  return describedAs(capability, fields);
}

function typeOf(column: Column, isMariaDb: boolean): ResultType {
  return TYPES.find((type) => convertColumn({ type }, column, 'q.a', isMariaDb).ok) ?? 'object';
}
