import type { ParamType } from '../../../capabilities/model.ts';
import type { BoundValue } from './node-sqlite.ts';

/** A validated value as it is bound; absent and null are SQL NULL. Times come in UTC, as SQLite's own functions write them. */
export function bindValue(type: ParamType, value: unknown): BoundValue {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return BigInt(textOf(value));
    case 'number':
      return Number(value);
    case 'boolean':
      return value === true ? 1n : 0n;
    case 'array':
    case 'object':
      return JSON.stringify(value);
    default:
      return textOf(value);
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
