import { createHash } from 'node:crypto';

const DIGEST_CHARACTERS = 12;

/** What a cursor belongs to: it is refused with another. */
export interface CursorTerms {
  readonly capability: string;
  readonly order: string;
  /** The fields and directions of the order, with the types of the database. */
  readonly terms: string;
}

/** Of the terms and all arguments of the call but the cursor itself. */
export function cursorDigest(
  { capability, order, terms }: CursorTerms,
  values: Readonly<Record<string, unknown>>,
): string {
  const given = Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([capability, order, terms, given]))
    .digest('base64url')
    .slice(0, DIGEST_CHARACTERS);
}

/** `values` are those of the last row, as texts of the database, in the order of the terms. */
export function encodeCursor(values: readonly (string | null)[], digest: string): string {
  return Buffer.from(JSON.stringify([...values, digest])).toString('base64url');
}

/** Undefined unless it is a cursor of that digest with as many values. */
export function decodeCursor(
  cursor: string,
  digest: string,
  count: number,
): readonly (string | null)[] | undefined {
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(read) || read.length !== count + 1 || read.pop() !== digest) return undefined;
  return read.every(isText) ? read : undefined;
}

function isText(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}
