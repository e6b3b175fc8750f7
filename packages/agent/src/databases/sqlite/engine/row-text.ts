import type { ResultType } from '../../../capabilities/model.ts';
import { Failure } from '../../engine-process/engine-questions.ts';
import type { SqliteValue } from './node-sqlite.ts';
import type { FieldDefinition } from './questions.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATETIME =
  /^(\d{4}-\d{2}-\d{2})[ Tt]((?:[01]\d|2[0-4]):[0-5]\d)(:[0-5]\d)?(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;
const DAYS_OF_EVERY_MONTH = 28;

/** A field with the text before its value in each row, and the index of its column. */
export interface OutputField extends FieldDefinition {
  readonly prefix: string;
  readonly column: number;
}

/** Throws `Failure` for a missing column: the schema has changed since verification. */
export function outputOf(
  fields: readonly FieldDefinition[],
  columns: readonly { readonly name: string }[],
): readonly OutputField[] {
  return fields.map((field, index) => {
    const column = columns.findIndex(({ name }) => name === field.name);
    if (column < 0)
      throw new Failure({ kind: 'failed', message: `the SQL has no longer the column ${field.name}` });
    return { ...field, prefix: `${index === 0 ? '{' : ','}${JSON.stringify(field.name)}:`, column };
  });
}

/** The JSON object of a row; undefined if one value alone is longer than a row may be. Throws `Failure`. */
export function rowText(
  row: readonly SqliteValue[],
  fields: readonly OutputField[],
  maxBytes: number,
  /** The number of the row, from 1, which tells operators where the misfit is. */
  number: number,
): string | undefined {
  let text = '';
  for (const field of fields) {
    const value = row[field.column] ?? null;
    if (typeof value !== 'number' && typeof value !== 'bigint' && (value?.length ?? 0) > maxBytes)
      return undefined;
    const json = value === null ? 'null' : jsonOf(field.type, value);
    if (value !== null && json === undefined) {
      const message = `field ${field.name} has in row ${number} a value of the class ${classOf(value)}, which is no ${field.type}: declare what it is, or CAST it in the SQL`;
      throw new Failure({ kind: 'failed', message });
    }
    if (json === 'null' && !field.nullable) {
      throw new Failure({
        kind: 'failed',
        message: `field ${field.name} is null in row ${number}, and its nullable is false`,
      });
    }
    text += field.prefix + json;
  }
  return `${text}}`;
}

/** As `typeof()` says it. */
function classOf(value: bigint | number | string | Uint8Array): string {
  if (typeof value === 'string') return 'TEXT';
  if (typeof value === 'bigint') return 'INTEGER';
  return typeof value === 'number' ? 'REAL' : 'BLOB';
}

/** A value as the declared type; undefined if it is of another class. */
function jsonOf(type: ResultType, value: bigint | number | string | Uint8Array): string | undefined {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' ? String(value) : undefined;
    case 'number':
      if (typeof value === 'bigint') return String(value);
      // JSON.stringify writes null for an infinity.
      return typeof value === 'number' ? JSON.stringify(value) : undefined;
    case 'boolean':
      if (value === 1n) return 'true';
      return value === 0n ? 'false' : undefined;
    case 'string':
      return JSON.stringify(textOf(value));
    case 'date':
      return typeof value === 'string' && DATE.test(value) && isDay(value) ? `"${value}"` : undefined;
    case 'datetime':
      return typeof value === 'string' ? datetimeOf(value) : undefined;
    case 'array':
    case 'object':
      return typeof value === 'string' ? documentOf(type, value) : undefined;
  }
}

function textOf(value: bigint | number | string | Uint8Array): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return realText(value);
  return String.raw`\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
}

/** As SQLite writes it: always with a point. */
function realText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf';
  const [digits = '', exponent] = String(value).split('e');
  const pointed = digits.includes('.') ? digits : `${digits}.0`;
  return exponent === undefined ? pointed : `${pointed}e${exponent}`;
}

/** Whether the calendar has the day, which has the form of `DATE`. */
function isDay(date: string): boolean {
  const month = Number(date.slice(5, 7));
  const day = Number(date.slice(8));
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= DAYS_OF_EVERY_MONTH || day <= daysOf(Number(date.slice(0, 4)), month);
}

function daysOf(year: number, month: number): number {
  const last = new Date(0);
  // Day 0 of the next month.
  last.setUTCFullYear(year, month, 0);
  return last.getUTCDate();
}

/** In UTC. A time without an offset is UTC, and needs no Date, which costs more than the rest of a row. */
function datetimeOf(text: string): string | undefined {
  const [, date = '', minute = '', second = ':00', fraction = '', offset = 'Z'] = DATETIME.exec(text) ?? [];
  if (!isDay(date)) return undefined;
  const digits = fraction === '' ? '' : fraction.replace(/\.?0+$/, '');
  if ((offset === 'Z' || offset === 'z') && minute < '24:00')
    return `"${date}T${minute}${second}${digits}+00:00"`;
  const at = new Date(`${date}T${minute}${second}${offset.toUpperCase()}`);
  const year = at.getUTCFullYear();
  // In UTC it may be before the year 0 or after 9999, which this form cannot hold.
  return year >= 0 && year <= 9999 ? `"${at.toISOString().slice(0, 19)}${digits}+00:00"` : undefined;
}

/** Null if it is no JSON of that kind. */
function documentOf(type: 'array' | 'object', text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    const kind = Array.isArray(value) ? 'array' : typeof value;
    return kind === type && value !== null ? text : 'null';
  } catch {
    return 'null';
  }
}
