import type { ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { describedAs, undeclaredCapability } from '../../sql/undeclared-capability.ts';
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
  const capability = undeclaredCapability(name, sql, lexicon);
  const result = readStatement(capability);
  if (!result.ok) return result;
  const found = await judge(session, capability, result.read);
  if (!found.ok) return found;
  const fields = found.judged.columns.map((column) => ({
    name: column.name,
    // JSON may be of any kind: only its text gives each of them.
    type:
      column.type === 'JSON'
        ? ('string' as const)
        : (TYPES.find((type) => convertColumn(type, column.type, 'q.a').ok) ?? 'string'),
  }));
  return describedAs(capability, fields);
}
