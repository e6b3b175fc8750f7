import { bad, good, quoted, type Parsed } from './parsed.ts';

export function parsePositiveInteger(text: string, max: number): Parsed<number> {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return good(value);
  return bad(`${quoted(text)} is not accepted; accepted: a whole number from 1 to ${max}`);
}

/** Fractions are allowed, exponents are not. */
export function parsePositiveNumber(text: string, max: number): Parsed<number> {
  const value = /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= max) return good(value);
  return bad(`${quoted(text)} is not accepted; accepted: a number above 0 and up to ${max}, like 50 or 0.5`);
}

export function parseBoolean(text: string): Parsed<boolean> {
  switch (text) {
    case 'true':
    case '1':
      return good(true);
    case 'false':
    case '0':
      return good(false);
    default:
      return bad(`${quoted(text)} is not accepted; accepted: true, false, 1 or 0`);
  }
}
