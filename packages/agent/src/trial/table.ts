import { printable } from '@svc/edge';
import { rawItems, rawMember } from '@svc/protocol';

const CELL_MAX = 60;
const GAP = '  ';

/** Rows, a JSON array of objects, as lines for people. Numbers are shown as the database wrote them. */
export function tableOf(fields: readonly string[], rows: Uint8Array): readonly string[] {
  const cells = rawItems(Buffer.from(rows)).map((row) =>
    fields.map((field) => rawMember(row, field)?.toString() ?? ''),
  );
  const isNumeric = fields.map((_, column) =>
    cells.every((row) => /^(?:-?\d|null$)/.test(row[column] ?? '')),
  );
  const shown = [fields, ...cells.map((row) => row.map(shownValue))].map((row) => row.map(clipped));
  const widths = fields.map((_, column) => Math.max(...shown.map((row) => widthOf(row[column] ?? ''))));
  const lines = shown.map((row) =>
    row
      .map((cell, column) => {
        const padding = ' '.repeat((widths[column] ?? 0) - widthOf(cell));
        return isNumeric[column] === true && cells.length > 0 ? `${padding}${cell}` : `${cell}${padding}`;
      })
      .join(GAP)
      .trimEnd(),
  );
  const [head = '', ...body] = lines;
  return [head, widths.map((width) => '-'.repeat(width)).join(GAP), ...body];
}

/** Nothing that a value holds may act on a terminal. */
function shownValue(json: string): string {
  const text: unknown = json.startsWith('"') ? JSON.parse(json) : json === 'null' ? '' : json;
  return printable(String(text));
}

function clipped(text: string): string {
  const characters = Array.from(text);
  return characters.length <= CELL_MAX ? text : `${characters.slice(0, CELL_MAX - 1).join('')}…`;
}

function widthOf(text: string): number {
  return Array.from(text).length;
}
