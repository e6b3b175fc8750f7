import { randomBytes } from 'node:crypto';

/** What a mark stands for; `PLACES` in the canary test says where which kind may appear. */
export type Kind =
  | 'api_key'
  | 'private_key'
  | 'password'
  | 'value'
  | 'answer'
  | 'row'
  | 'database_text'
  | 'sql'
  | 'connection'
  | 'file';

export interface Mark {
  readonly kind: Kind;
  /** At least 12 characters, so that nothing finds it by chance. */
  readonly text: string;
}

/** A fresh mark: lower case letters and digits, which no encoding of a part of it resembles. */
export function freshMark(kind: Kind): Mark {
  return { kind, text: `k${randomBytes(8).toString('hex')}q` };
}

/** Which of the marks are in the text, as they are or encoded in any usual way, in any case. */
export function createDetector(marks: readonly Mark[]): (text: string) => readonly Mark[] {
  const patterns = marks.map((mark) => {
    const cases = [...new Set([mark.text, mark.text.toUpperCase(), mark.text.toLowerCase()])];
    return {
      mark,
      anyCase: [mark.text, ...escaped(mark.text), ...hexadecimal(mark.text)].map((form) =>
        form.toLowerCase(),
      ),
      exact: cases.flatMap(base64Forms),
    };
  });
  return (text) => {
    const lower = text.toLowerCase();
    const found = patterns.filter(
      ({ anyCase, exact }) =>
        anyCase.some((form) => lower.includes(form)) || exact.some((form) => text.includes(form)),
    );
    return found.map(({ mark }) => mark);
  };
}

function escaped(text: string): readonly string[] {
  const hex = [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, '0'));
  return ['%', '\\u00', '\\x', '&#x'].map((start) =>
    hex.map((digits) => `${start}${digits}${start === '&#x' ? ';' : ''}`).join(''),
  );
}

function hexadecimal(text: string): readonly string[] {
  const both = [text, text.toUpperCase(), text.toLowerCase()];
  return [
    ...both.map((form) => Buffer.from(form).toString('hex')),
    Buffer.from(text, 'utf16le').toString('hex'),
  ];
}

/** Base64 and base64url of a text that anything may surround: the letters that depend on the text alone. */
function base64Forms(text: string): readonly string[] {
  const forms = [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    const certain = Math.floor(((before + text.length) * 8) / 6);
    return encoded.slice(Math.ceil((before * 8) / 6), certain);
  });
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}
