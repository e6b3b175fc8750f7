import { rawItems, rawMembers } from '@svc/protocol';
import { isRecord } from '../is-record.ts';
import { mayHoldLongNumber } from './written-number.ts';

/** The JSON text of a value from the capability file, in which an integer may be a BigInt. */
export function jsonText(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (isRecord(value)) {
    const members = Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}:${jsonText(part)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

export function holdsBigInt(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsBigInt);
}

const INTEGER = /^-?\d+$/;

/** What `JSON.parse` makes of a text, with a BigInt for each integer that a double does not keep. */
export function parseJsonText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return mayHoldLongNumber(text) ? withIntegers(value, Buffer.from(text)) : value;
}

function withIntegers(value: unknown, written: Buffer): unknown {
  if (typeof value === 'number') {
    const text = written.toString();
    return Number.isSafeInteger(value) || !INTEGER.test(text) ? value : BigInt(text);
  }
  if (Array.isArray(value)) {
    const items = rawItems(written);
    return value.map((item, at) => withIntegers(item, items[at] ?? written));
  }
  if (!isRecord(value)) return value;
  const members = rawMembers(written);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, withIntegers(part, members.get(name) ?? written)]),
  );
}
