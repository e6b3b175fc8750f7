import { printable } from './json-lines.ts';

const LEVEL_CHARACTERS = 5;
const GREY = '\u001b[90m';
const RESET = '\u001b[0m';
const COLOURS: Readonly<Record<string, string>> = {
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
/** What can be told from the names and other values on its line without quotes. */
const PLAIN = /^[^\s"=\\\p{C}]+$/u;

/** One line for people of each line of JSON: time, level, event, then the other fields as `name=value`. */
export function readableRecords(lines: string, colour: boolean): string {
  return lines
    .split('\n')
    .map((line) => (line === '' ? line : readable(line, colour)))
    .join('\n');
}

function readable(line: string, colour: boolean): string {
  let record: Readonly<Record<string, unknown>>;
  try {
    record = JSON.parse(line);
  } catch {
    // Half a line of a worker that was killed.
    return line;
  }
  const paint = (code: string | undefined, text: string): string =>
    colour && code !== undefined ? `${code}${text}${RESET}` : text;
  const { time, level, event, ...rest } = record;
  const fields = Object.entries(rest).map(([name, value]) => `${paint(GREY, `${name}=`)}${valueText(value)}`);
  const levelText = String(level);
  return [
    paint(GREY, String(time)),
    paint(COLOURS[levelText], levelText.padEnd(LEVEL_CHARACTERS)),
    printable(String(event)),
    ...fields,
  ].join(' ');
}

function valueText(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : printable(JSON.stringify(value));
}
