import { Failure, type PageBorder } from '../../engine-process/engine-questions.ts';
import { cursorText } from './cursor-values.ts';
import type { BoundValue, SqliteValue } from './node-sqlite.ts';

type Row = readonly SqliteValue[];

/** Where the columns of the order stand in a row. */
export interface KeyColumn {
  readonly field: string;
  readonly column: number;
}

/**
 * The border between the last row of a page and the next one. `isRow` tells whether the list has a row that is equal to
 * all of these values, as its columns compare: it is only asked where the values alone do not tell.
 */
export function borderOf(
  keys: readonly KeyColumn[],
  last: Row,
  next: Row,
  isRow: (...values: readonly (readonly BoundValue[])[]) => boolean,
): PageBorder {
  const texts = keys.map(({ field, column }) => {
    const text = cursorText(last[column] ?? null);
    if (text === undefined) {
      const message = `field ${field} has a BLOB, which no cursor keeps: leave it out of \`sort\` and \`paging\`, or cast it in the SQL`;
      throw new Failure({ kind: 'failed', message });
    }
    return text;
  });
  const valuesOf = (row: Row): readonly BoundValue[] => keys.map(({ column }) => boundOf(row[column]));
  const [values, others] = [valuesOf(last), valuesOf(next)];
  // Node.js reads a text that is no UTF-8 as another one.
  if (texts.some((text) => text?.includes('\uFFFD') === true) && !isRow(values)) {
    const message = `the fields ${keys.map(({ field }) => field).join(', ')} have a text that is no UTF-8, which no cursor keeps`;
    throw new Failure({ kind: 'failed', message });
  }
  const mayBeTied = values.every((value, at) => mayBeEqual(value, others[at] ?? null));
  return { last: texts, isTied: mayBeTied && isRow(values, others) };
}

function boundOf(value: SqliteValue | undefined): BoundValue {
  return value === undefined || value instanceof Uint8Array ? null : value;
}

/**
 * Adds to each row whether a text in these fields has a NUL character. Node.js 22 reads such a text only up to there.
 */
export function withNuls(text: string, fields: readonly string[]): string {
  const hasNul = fields.map((field) => `instr(svc_p."${field.replaceAll('"', '""')}", char(0)) > 0`);
  return `select svc_p.*, ${hasNul.join(' or ')} from (${text}\n) svc_p`;
}

/** Throws `Failure` for a row of `withNuls` that has such a text. */
export function requireNoNul(row: Row, keys: readonly KeyColumn[]): void {
  if ((row.at(-1) ?? 0n) === 0n) return;
  const message = `the fields ${keys.map(({ field }) => field).join(', ')} have a text with a NUL character, which no cursor keeps on Node.js 22`;
  throw new Failure({ kind: 'failed', message });
}

/** Under BINARY, NOCASE or RTRIM. SQLite compares integers with REALs exactly, as JavaScript does. */
function mayBeEqual(value: BoundValue, other: BoundValue): boolean {
  if (typeof value === 'string' && typeof other === 'string') return folded(value) === folded(other);
  // oxlint-disable-next-line eqeqeq
  return value === null || other === null ? value === other : value == other;
}

/** NOCASE ignores what follows a NUL character, but not its length. */
function folded(text: string): string {
  return text
    .replace(/\0.*$/s, '')
    .replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .replace(/ +$/, '');
}
