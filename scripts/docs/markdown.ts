/** A table whose columns are as wide as their widest cell, which is how the formatter leaves it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(cell));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(first), line(rule), ...others.map(line)].join('\n');
}

/** Text as code; what may hold a backtick is fenced by two. */
export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

export function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}

const BEGIN = (name: string): string => `<!-- generated: ${name} -->`;
const END = '<!-- end of generated -->';

/** The names of the parts of `document` that are made by machine. */
export function generatedParts(document: string): readonly string[] {
  return [...document.matchAll(/^<!-- generated: (\S+) -->$/gm)].map(([, name = '']) => name);
}

/** `document` with what stands between the markers of `name` replaced. Throws when there are none. */
export function replacePart(document: string, name: string, content: string): string {
  const begin = document.indexOf(BEGIN(name));
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) throw new Error(`cannot find the markers of ${name}`);
  return `${document.slice(0, begin)}${BEGIN(name)}\n\n${content}\n\n${document.slice(end)}`;
}
