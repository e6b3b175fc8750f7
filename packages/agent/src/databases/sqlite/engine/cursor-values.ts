import type { BoundValue, SqliteValue } from './node-sqlite.ts';

const INTEGER = /^i(-?\d{1,19})$/;
const REAL = /^r(-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Infinity))$/;
const TEXT = 't';

/** A value as text with its class, since SQLite sorts by classes first. Undefined for a BLOB, which no cursor keeps. */
export function cursorText(value: SqliteValue): string | null | undefined {
  if (value === null) return null;
  if (typeof value === 'bigint') return `i${value}`;
  if (typeof value === 'number') return `r${value}`;
  return typeof value === 'string' ? TEXT + value : undefined;
}

export function isCursorValue(text: string): boolean {
  const [, integer] = INTEGER.exec(text) ?? [];
  if (integer !== undefined) return BigInt.asIntN(64, BigInt(integer)) === BigInt(integer);
  return REAL.test(text) || text.startsWith(TEXT);
}

/** The value of such a text. */
export function valueOfCursor(text: unknown): BoundValue {
  if (typeof text !== 'string') return null;
  const [, integer] = INTEGER.exec(text) ?? [];
  if (integer !== undefined) return BigInt(integer);
  const [, real] = REAL.exec(text) ?? [];
  return real === undefined ? text.slice(TEXT.length) : Number(real);
}
