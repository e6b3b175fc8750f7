import type { Fault } from './read-settings.ts';

export type EnvFile =
  | { readonly values: Readonly<Record<string, string>> }
  | { readonly faults: readonly Fault[] };

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*/;
const BLANK_OR_COMMENT = /^[ \t]*(?:#.*)?$/;
const DOUBLE_QUOTE_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  $: '$',
};

/**
 * Reads dotenv syntax. Single quotes and backticks take their text literally, double quotes know `\n \r \t \" \\ \$`; all
 * three may span lines. Nothing is expanded, so `$` is safe everywhere. A `#` begins a comment at the start of a line or
 * after white space, as in a shell, so that a file means the same however it is loaded. A line without `=` is a fault;
 * node:util's parseEnv would silently join it to the next line. Messages name the line, never a value.
 */
export function readEnvFile(text: string): EnvFile {
  const values: Record<string, string> = {};
  const faults: Fault[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  let index = 0;
  while (index < lines.length) {
    const number = index + 1;
    const line = lines[index] ?? '';
    index++;
    if (BLANK_OR_COMMENT.test(line)) continue;
    const [head, name] = ASSIGNMENT.exec(line) ?? [];
    if (head === undefined || name === undefined) {
      faults.push({ setting: `line ${number}`, message: 'is not an assignment; accepted: NAME=value' });
      continue;
    }
    const rest = line.slice(head.length);
    const quote = rest[0];
    if (quote !== "'" && quote !== '"' && quote !== '`') {
      values[name] = rest.replace(/(?:^|[ \t]+)#.*$/, '').trimEnd();
      continue;
    }
    let body = rest.slice(1);
    let end = closingQuote(body, quote);
    let last = index;
    while (end === -1 && last < lines.length) {
      body += `\n${lines[last] ?? ''}`;
      last++;
      end = closingQuote(body, quote);
    }
    if (end === -1) {
      // The next lines are read on their own, so that their faults are reported too.
      faults.push({ setting: `line ${number}`, message: `${name} has no closing ${quote}` });
      continue;
    }
    index = last;
    if (!/^[ \t]*(?:#.*)?$/.test(body.slice(end + 1))) {
      const message = `${name} has text after its closing ${quote}; accepted: a comment that begins with #`;
      faults.push({ setting: `line ${number}`, message });
      continue;
    }
    const value = body.slice(0, end);
    values[name] = quote === '"' ? unescape(value) : value;
  }
  return faults.length > 0 ? { faults } : { values };
}

function closingQuote(body: string, quote: string): number {
  if (quote !== '"') return body.indexOf(quote);
  for (let index = 0; index < body.length; index++) {
    if (body[index] === '\\') index++;
    else if (body[index] === quote) return index;
  }
  return -1;
}

function unescape(text: string): string {
  return text.replace(/\\([\s\S])/g, (whole, char: string) => DOUBLE_QUOTE_ESCAPES[char] ?? whole);
}
