import type { ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import { describedAs, undeclaredCapability } from '../../sql/undeclared-capability.ts';
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
  const capability = undeclaredCapability(name, sql, lexicon);
  const result = readStatement(capability);
  if (!result.ok) return result;
  const judged = await judge(session, { text: result.read.text, allowFunctions: [] });
  if (!judged.ok) return { ok: false, faults: [faultAt(capability, { message: judged.problem })] };
  const fields = judged.columns.map((column) => ({
    name: column.name,
    type: proposedType(column.type ?? ''),
  }));
  return describedAs(capability, fields);
}

/** By the words that SQLite goes by, too, when it stores a value; what it does not know is text. */
function proposedType(declared: string): ResultType {
  if (/^bool/i.test(declared)) return 'boolean';
  if (/int/i.test(declared)) return 'integer';
  if (/real|floa|doub|numeric|decimal/i.test(declared)) return 'number';
  if (/^(?:datetime|timestamp)/i.test(declared)) return 'datetime';
  return /^date$/i.test(declared) ? 'date' : 'string';
}
