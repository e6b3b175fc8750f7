/** Blanks, then one token: a text, a bare word or number, or a mark. */
const TOKEN =
  /[ \t\r\n]*(?:("(?:[ -!#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))/uy;

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'nothing';

/**
 * Where a text stops being one JSON value: the offset of the first character that fits nowhere, or the length
 * of the text when it just ends too early; undefined for JSON. What Node.js says of it varies with its version
 * and quotes the text.
 */
export function jsonFaultOffset(text: string): number | undefined {
  const open: string[] = [];
  let expected: Expected = 'value';
  TOKEN.lastIndex = 0;
  for (let offset = 0; ; offset = TOKEN.lastIndex) {
    const start = offset + (/^[ \t\r\n]*/.exec(text.slice(offset))?.[0].length ?? 0);
    if (start === text.length) return expected === 'nothing' ? undefined : start;
    TOKEN.lastIndex = offset;
    const [, string, scalar, mark] = TOKEN.exec(text) ?? [];
    const next = advance(expected, string === undefined ? (scalar ?? mark) : '"', open);
    if (next === undefined) return start;
    expected = next;
  }
}

/** What may follow the token; undefined when the token may not stand here. `"` stands for any text. */
function advance(expected: Expected, token: string | undefined, open: string[]): Expected | undefined {
  switch (token) {
    case undefined:
      return undefined;
    case '{':
    case '[':
      if (!expected.startsWith('value')) return undefined;
      open.push(token);
      return token === '{' ? 'key or }' : 'value or ]';
    case '}':
    case ']': {
      const inside = open.at(-1) === (token === '}' ? '{' : '[');
      if (!inside || (expected !== ', or end' && !expected.endsWith(token))) return undefined;
      open.pop();
      return afterValue(open);
    }
    case ',':
      if (expected !== ', or end') return undefined;
      return open.at(-1) === '{' ? 'key' : 'value';
    case ':':
      return expected === ':' ? 'value' : undefined;
    case '"':
      if (expected.startsWith('key')) return ':';
      return expected.startsWith('value') ? afterValue(open) : undefined;
    default:
      return expected.startsWith('value') ? afterValue(open) : undefined;
  }
}

function afterValue(open: readonly string[]): Expected {
  return open.length === 0 ? 'nothing' : ', or end';
}
