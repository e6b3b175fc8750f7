import type { ParamType } from '../../../capabilities/model.ts';
import type { BoundValue } from './node-sqlite.ts';

/** A validated value as it is bound; absent and null are SQL NULL. */
export function bindValue(type: ParamType, value: unknown): BoundValue {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return BigInt(textOf(value));
    case 'number':
      return Number(value);
    case 'boolean':
      return value === true ? 1n : 0n;
    case 'datetime':
      return inUtc(textOf(value));
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

/** As SQLite's own functions write it, in UTC. A Date has milliseconds only, so what is behind the seconds stays as it is. */
function inUtc(value: string): string {
  const fraction = /\.(\d+)/.exec(value)?.[1];
  const whole = new Date(value.replace(/\.\d+/, '')).toISOString().slice(0, 19).replace('T', ' ');
  return fraction === undefined ? whole : `${whole}.${fraction}`;
}
