import type { ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import { describeStatement as describe } from '../../sql/verify/describe-statement.ts';
import type { MysqlSession } from '../connection/session.ts';
import { convertColumn } from './convert-column.ts';
import { lexicon } from './lexicon.ts';
import { readStatement } from './read-statement.ts';
import { prepared } from './verify-capabilities.ts';

/** The first that fits. A text may also hold an array, but only a person knows. */
const TYPES: readonly ResultType[] = ['boolean', 'integer', 'number', 'date', 'datetime', 'string'];

export function describeStatement(
  session: MysqlSession,
  name: string,
  sql: string,
): Promise<StatementDescription> {
  const { isMariaDb } = session;
  return describe(
    name,
    sql,
    lexicon,
    async (capability) => {
      const result = readStatement(capability, isMariaDb);
      return result.ok ? prepared(session, capability, result.read.text, result.read) : result;
    },
    (column) => TYPES.find((type) => convertColumn({ type }, column, 'q.a', isMariaDb).ok) ?? 'object',
  );
}
