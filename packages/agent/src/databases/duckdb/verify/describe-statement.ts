import type { ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { describeStatement as describe } from '../../sql/verify/describe-statement.ts';
import { lexicon } from '../engine/lexicon.ts';
import type { DuckdbColumn } from '../engine/questions.ts';
import { readStatement } from './read-statement.ts';
import { judge } from './verify-capabilities.ts';
import { convertColumn } from './wrap-select.ts';

const TYPES = ['boolean', 'integer', 'number', 'date', 'datetime', 'array', 'object', 'string'] as const;

/** A parameter that is proposed as text takes the type that DuckDB finds for it. */
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
      return result.ok ? judge(session, capability, result.read) : result;
    },
    typeOf,
  );
}

function typeOf({ type: found }: DuckdbColumn): ResultType {
  // JSON may be of any kind: only its text gives each of them.
  if (found === 'JSON') return 'string';
  return TYPES.find((type) => convertColumn(type, found, 'q.a').ok) ?? 'string';
}
