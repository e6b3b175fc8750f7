export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly right?: boolean;
}

/** Lines with as much room for each column as its widest cell needs; no blanks at the end of a line. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] ?? '').length)),
  );
  const lineOf = (cells: readonly string[]): string =>
    columns
      .map(({ right = false }, at) => {
        const [cell, width] = [cells[at] ?? '', widths[at] ?? 0];
        return right ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [columns.map(({ title }) => title), ...rows].map((cells) => `${lineOf(cells)}\n`).join('');
}

/** With so many digits behind the point; `-` for what is not known. */
export function fixed(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}
