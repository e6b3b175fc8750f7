import type { CatalogColumn, CatalogTable } from '../../databases/driver/catalog.ts';
import { nameGiver, slugOf } from '../capability-names.ts';
import { paramFor } from './column-types.ts';
import type { LeftOut, ProposedCapability, ProposedParam } from '../model.ts';
import { shortened } from '../render/one-line.ts';
import { keyColumns, selectAll, type TableParts } from './table-parts.ts';

/** A capability without its final name. */
export interface Draft extends ProposedCapability {
  /** Drafts with a lower number are proposed first. */
  readonly wave: number;
}

/** What a table gets of one kind of capabilities, or why it does not. */
export type Drafts = readonly (Draft | LeftOut)[];

const COMMENT_MAX = 200;
export const LIMIT: ProposedParam = {
  name: 'limit',
  type: 'integer',
  minimum: 1,
  maximum: 100,
  default: 20,
  description: 'Rows at most',
};

/** `get_T` for each key: one row, or none. */
export function getDrafts(parts: TableParts): Drafts {
  const { table, slug } = parts;
  if (table.keys.length === 0) return [{ name: `get_${slug}`, reason: `a ${table.kind} without a key` }];
  return table.keys.map((key, index) => {
    const isFirst = index === 0;
    const name = isFirst ? `get_${slug}` : `get_${slug}_by_${key.columns.map(slugOf).join('_and_')}`;
    const columns = keyColumns(parts, key);
    if (columns === undefined) {
      const ofKey = `a column of its key ${key.columns.join(', ')}`;
      return { name, reason: `${ofKey} is left out or has no type for a parameter` };
    }
    const giveName = nameGiver(63);
    const params = columns.map((column) => paramFor(giveName(paramNameOf(column)), column, true));
    const { list, from, fields, reads } = selectAll(parts);
    const where = columns.map(({ sql }, at) => `t.${sql} = :${params[at]?.name}`).join(' and ');
    const by = params.map((param) => param.name).join(' and ');
    return {
      name,
      wave: isFirst ? 0 : 1,
      description: sentences(`One row of ${table.name}, by ${by}`, table),
      sql: lines(selectLine(list), ...from, `where ${where}`),
      params,
      result: fields,
      maxRows: 1,
      reads,
    };
  });
}

/** Names that begin with `svc_` are reserved for what says who calls. */
export function paramNameOf({ name }: CatalogColumn): string {
  const slug = slugOf(name);
  return slug.startsWith('svc_') ? `t_${slug}` : slug;
}

/** A sentence of ours, then the comment of the table. */
export function sentences(own: string, { comment = '' }: CatalogTable): string {
  const text = shortened(comment, COMMENT_MAX);
  return text === '' ? `${own}.` : `${own}. ${text}`;
}

export function selectLine(list: readonly string[]): string {
  const width = 100;
  const rows: string[] = [];
  for (const item of list) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + item.length + 2 <= width)
      rows[rows.length - 1] = `${last}, ${item}`;
    else rows.push(item);
  }
  return `select ${rows.join(',\n  ')}`;
}

export function lines(...parts: readonly string[]): string {
  return parts.join('\n');
}
