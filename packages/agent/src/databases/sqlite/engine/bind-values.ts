import type { ParamType } from '../../../capabilities/model.ts';
import type { BoundValue } from './node-sqlite.ts';

/** A validated value as it is bound; absent and null are SQL NULL. Times come in UTC, as SQLite's own functions write them. */
export function bindValue(type: ParamType, value: unknown): BoundValue {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return BigInt(textOf(value));
    case 'number':
      return typeof value === 'number' ? value : boundNumber(textOf(value));
    case 'boolean':
      return value === true ? 1n : 0n;
    default:
      return textOf(value);
  }
}

/** A whole number that a REAL would round is bound as INTEGER, which compares exactly with columns of both kinds. */
function boundNumber(text: string): BoundValue {
  const integer = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  return integer === undefined || BigInt.asIntN(64, integer) !== integer ? Number(text) : integer;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
