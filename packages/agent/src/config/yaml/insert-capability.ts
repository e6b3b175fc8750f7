import { Document, isMap, isScalar, parseDocument, Scalar, type YAMLMap } from 'yaml';

/** A capability as the file has it, in the order of its keys. */
export interface CapabilitySection {
  readonly sql: string;
  readonly [key: string]: unknown;
}

export interface InsertedCapability {
  /** The whole file; the rest of it keeps every byte. */
  readonly text: string;
  /** The part that is new. */
  readonly section: string;
}

/** Adds a capability after the others of a file, which has at least one. Undefined if the file has no place for it. */
export function insertCapability(
  text: string,
  name: string,
  section: CapabilitySection,
): InsertedCapability | undefined {
  const { contents } = parseDocument(text, { keepSourceTokens: true });
  const capabilities = isMap(contents) ? contents.get('capabilities') : undefined;
  if (!isMap(capabilities)) return undefined;
  const [first, last] = [capabilities.items[0], capabilities.items.at(-1)];
  const start = startOf(first?.key);
  const end = last === undefined ? undefined : (endOf(last.value) ?? endOf(last.key));
  if (start === undefined || end === undefined) return undefined;
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const indent = /^[ \uFEFF]*/.exec(text.slice(lineStart, start))?.[0].replace('\uFEFF', '') ?? '';
  if (capabilities.flow === true) {
    const isOwnLine = text.slice(lineStart, start).trim() === '';
    const added = `${JSON.stringify(name)}: ${JSON.stringify(section)}`;
    const before = isOwnLine ? `,${newline}${indent}` : ', ';
    return { text: `${text.slice(0, end)}${before}${added}${text.slice(end)}`, section: `${added}\n` };
  }
  const at = behindLine(text, end, indent.length);
  const written = writeBlock(name, section);
  const indented = written
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `${indent}${line}`))
    .join(newline);
  const gap = isSpaced(text, capabilities) ? newline : '';
  const before = text.slice(0, at);
  const opening = before.endsWith('\n') ? '' : newline;
  return { text: `${before}${opening}${gap}${indented}${newline}${text.slice(at)}`, section: written };
}

function writeBlock(name: string, { sql, ...section }: CapabilitySection): string {
  const statement = new Scalar(sql);
  if (sql.includes('\n')) statement.type = Scalar.BLOCK_LITERAL;
  const document = new Document({ [name]: { sql: statement, ...section } });
  // A parameter or a field on one line, as people write it.
  const capability = document.get(name);
  for (const key of ['params', 'result']) {
    const fields = isMap(capability) ? capability.get(key) : undefined;
    for (const { value } of isMap(fields) ? fields.items : []) if (isMap(value)) value.flow = true;
  }
  return document.toString({ lineWidth: 0 });
}

/** Where the next line begins after `end` and its comments, which are indented deeper. */
function behindLine(text: string, end: number, indent: number): number {
  const next = (from: number): number => {
    const at = text.indexOf('\n', from);
    return at < 0 ? text.length : at + 1;
  };
  let at = text[end - 1] === '\n' ? end : next(end);
  for (;;) {
    const line = text.slice(at, next(at));
    const comment = /^( *)#/.exec(line);
    if (comment === null || (comment[1] ?? '').length <= indent) return at;
    at = next(at);
  }
}

function isSpaced(text: string, { items }: YAMLMap): boolean {
  const [, second] = items;
  const start = startOf(second?.key);
  if (start === undefined) return false;
  const lines = text.slice(0, start).split(/\r?\n/).slice(0, -1);
  while (lines.at(-1)?.trim().startsWith('#') === true) lines.pop();
  return lines.at(-1)?.trim() === '';
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) ? node.range?.[0] : undefined;
}

function endOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range))
    return undefined;
  const end: unknown = node.range[1];
  return typeof end === 'number' ? end : undefined;
}
