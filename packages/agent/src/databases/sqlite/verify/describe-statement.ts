import type { ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { describeStatement as describe } from '../../sql/verify/describe-statement.ts';
import { lexicon } from './lexicon.ts';
import { readStatement } from './read-statement.ts';
import { judge } from './verify-capabilities.ts';

/** A column is proposed as what its table declares: SQLite itself knows types of values alone. */
export function describeStatement(
  session: EngineSession,
  name: string,
  sql: string,
): Promise<StatementDescription> {
  return describe(
    name,
    sql,
    lexicon,
    async (capability) => {
      const result = readStatement(capability);
      return result.ok ? judge(session, capability, result.read.filled.text) : result;
    },
    ({ type }) => proposedType(type ?? ''),
  );
}

/** By the words that SQLite also uses when it stores a value. Anything else is text. */
function proposedType(declared: string): ResultType {
  if (/^bool/i.test(declared)) return 'boolean';
  if (/int/i.test(declared)) return 'integer';
  if (/real|floa|doub|numeric|decimal/i.test(declared)) return 'number';
  if (/^(?:datetime|timestamp)/i.test(declared)) return 'datetime';
  return /^date$/i.test(declared) ? 'date' : 'string';
}
