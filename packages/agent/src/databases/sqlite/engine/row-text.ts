import type { ResultType } from '../../../capabilities/model.ts';
import { Failure } from '../../engine-process/engine-questions.ts';
import type { SqliteValue } from './node-sqlite.ts';
import type { FieldDefinition } from './questions.ts';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATETIME = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2})?(?:\.(\d+))?(Z|[+-]\d{2}:\d{2})?$/i;

/** A field with what stands before its value in each row, and the column that it is taken from. */
export interface OutputField extends FieldDefinition {
  readonly prefix: string;
  readonly column: number;
}

/** Throws `Failure` for a column that a result does not have: the schema has changed since it was verified. */
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

/** The JSON object of a row; undefined where one value alone is longer than any row may be. Throws `Failure`. */
export function rowText(
  row: readonly SqliteValue[],
  fields: readonly OutputField[],
  maxBytes: number,
): string | undefined {
  let text = '';
  for (const field of fields) {
    const value = row[field.column] ?? null;
    if (typeof value !== 'number' && typeof value !== 'bigint' && (value?.length ?? 0) > maxBytes)
      return undefined;
    const json = value === null ? 'null' : jsonOf(field.type, value);
    if (json === undefined) {
      const message = `field ${field.name} has a value that is no ${field.type}: declare what it is, or CAST it in the SQL`;
      throw new Failure({ kind: 'failed', message });
    }
    if (json === 'null' && !field.nullable) {
      throw new Failure({
        kind: 'failed',
        message: `field ${field.name} is null, and its nullable is false`,
      });
    }
    text += field.prefix + json;
  }
  return `${text}}`;
}

/** A value as the declared type; undefined where it is of another class. */
function jsonOf(type: ResultType, value: bigint | number | string | Uint8Array): string | undefined {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' ? String(value) : undefined;
    case 'number':
      if (typeof value === 'bigint') return String(value);
      // JSON.stringify writes null for an infinity, and else the shortest text that reads back.
      return typeof value === 'number' ? JSON.stringify(value) : undefined;
    case 'boolean':
      if (value === 1n) return 'true';
      return value === 0n ? 'false' : undefined;
    case 'string':
      return JSON.stringify(textOf(value));
    case 'date':
      return typeof value === 'string' && isDate(value) ? `"${value}"` : undefined;
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

/** As SQLite writes it: never without a point. */
function realText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf';
  const [digits = '', exponent] = String(value).split('e');
  const pointed = digits.includes('.') ? digits : `${digits}.0`;
  return exponent === undefined ? pointed : `${pointed}e${exponent}`;
}

function isDate(text: string): boolean {
  const match = DATE.exec(text);
  if (match === null) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** In UTC, which a time without an offset is taken for. */
function datetimeOf(text: string): string | undefined {
  const [, date = '', minute = '', second = ':00', fraction = '', offset = 'Z'] = DATETIME.exec(text) ?? [];
  if (!isDate(date)) return undefined;
  const at = new Date(`${date}T${minute}${second}${offset.toUpperCase()}`);
  if (Number.isNaN(at.getTime())) return undefined;
  const digits = fraction.replace(/0+$/, '');
  return `"${at.toISOString().slice(0, 19)}${digits === '' ? '' : `.${digits}`}+00:00"`;
}

/** What is no JSON of that kind is null. */
function documentOf(type: 'array' | 'object', text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    const kind = Array.isArray(value) ? 'array' : typeof value;
    return kind === type && value !== null ? text : 'null';
  } catch {
    return 'null';
  }
}
