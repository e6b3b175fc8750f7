import type { ParamType } from '../../../capabilities/model.ts';
import type { DuckdbStatement } from './library.ts';

const INT64_MAX = 2n ** 63n - 1n;

/**
 * Binds a validated value; absent and null are SQL NULL. Texts take the type that DuckDB has found for the parameter, times come in UTC,
 * and numbers are cast in the SQL: as DECIMAL they would be rounded to the digits of a column.
 */
export function bindValue(statement: DuckdbStatement, index: number, type: ParamType, value: unknown): void {
  if (value === undefined || value === null) {
    statement.bindNull(index);
    return;
  }
  switch (type) {
    case 'integer': {
      const number = BigInt(textOf(value));
      if (number > INT64_MAX || number < -INT64_MAX) statement.bindHugeInt(index, number);
      else statement.bindBigInt(index, number);
      return;
    }
    case 'number':
      statement.bindDouble(index, Number(value));
      return;
    case 'boolean':
      statement.bindBoolean(index, value === true);
      return;
    default:
      statement.bindVarchar(index, textOf(value));
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
