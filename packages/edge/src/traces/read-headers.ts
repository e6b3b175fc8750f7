import { validateHeaderName, validateHeaderValue } from 'node:http';

export type ReadHeaders =
  | { readonly headers: Readonly<Record<string, string>> }
  /** Which of them it is, and why: never what it says. */
  | { readonly problem: string };

/** `name=value` with commas between, the values percent-encoded: the form of OTEL_EXPORTER_OTLP_HEADERS. */
export function readHeaderList(text: string): ReadHeaders {
  return gather(text.split(',').map(pairOf));
}

/** A header on each line: `Name: value` as HTTP writes it, or the form of OTEL_EXPORTER_OTLP_HEADERS. */
export function readHeaderFile(text: string): ReadHeaders {
  return gather(
    text.split(/\r?\n/).flatMap((line) => {
      const [, name, value = ''] = HTTP_LINE.exec(line) ?? [];
      return name === undefined ? line.split(',').map(pairOf) : [{ name, value: value.trim() }];
    }),
  );
}

const HTTP_LINE = /^\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+):(.*)$/;

type Pair = { readonly name: string; readonly value: string } | 'none' | 'faulty';

function pairOf(text: string): Pair {
  if (text.trim() === '') return 'none';
  const at = text.indexOf('=');
  if (at < 1) return 'faulty';
  try {
    return { name: text.slice(0, at).trim(), value: decodeURIComponent(text.slice(at + 1).trim()) };
  } catch {
    return 'faulty';
  }
}

function gather(pairs: readonly Pair[]): ReadHeaders {
  const headers: Record<string, string> = {};
  let count = 0;
  for (const pair of pairs) {
    if (pair === 'none') continue;
    count++;
    if (pair === 'faulty' || !isHeader(pair)) return { problem: `entry ${count} is not a header` };
    headers[pair.name.toLowerCase()] = pair.value;
  }
  return { headers };
}

/** Where a body ends is said by who sends it: with another length no batch would arrive. */
const OF_BODY = /^(?:content-length|transfer-encoding)$/i;

function isHeader({ name, value }: Exclude<Pair, string>): boolean {
  if (OF_BODY.test(name)) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
