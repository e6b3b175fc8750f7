import type { CatalogColumn, CatalogTable } from '../../databases/driver/catalog.ts';
import { nameGiver, slugOf } from '../capability-names.ts';
import { isGiven, paramFor } from './column-types.ts';
import type { LeftOut, ProposedCapability, ProposedParam } from '../model.ts';
import { shortened } from '../render/one-line.ts';
import { keyColumns, pagingKey, selectAll, type TableParts } from './table-parts.ts';

/** A capability without its final name. */
export interface Draft extends ProposedCapability {
  /** Drafts with a lower number are proposed first. */
  readonly wave: number;
}

/** What a table gets of one kind of capabilities, or why it does not. */
export type Drafts = readonly (Draft | LeftOut)[];

const FILTERS_MAX = 8;
const COMMENT_MAX = 200;
/** Names of parameters that do not come from columns. */
const OWN_PARAMS = ['after', 'limit', 'query'];
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

/** `list_T`: pages by key, with a filter for each column that an index finds. */
export function listDrafts(parts: TableParts): Drafts {
  const { table, slug } = parts;
  const key = pagingKey(parts);
  const name = `list_${slug}`;
  if (key === undefined) {
    const reason =
      table.keys.length === 0
        ? `a ${table.kind} without a key to page by`
        : 'no key to page by: its columns must never be null, and callers must see all of them';
    return [{ name, reason }];
  }
  const { list, from, fields, reads } = selectAll(parts);
  const giveName = nameGiver(63, OWN_PARAMS);
  const after = key.map((column) => ({
    ...paramFor(key.length === 1 ? 'after' : giveName(`after_${slugOf(column.name)}`), column, false),
    description: `The last ${column.name} of the page before`,
  }));
  const filters = filterColumns(parts, key).flatMap((column) => filtersFor(column, giveName));
  const [first] = after;
  const keySql = key.map(({ sql }) => `t.${sql}`);
  const isBehind =
    key.length === 1
      ? `${keySql[0]} > :${first?.name}`
      : `(${keySql.join(', ')}) > (${after.map((param) => `:${param.name}`).join(', ')})`;
  const conditions = [
    `(:${first?.name} is null or ${isBehind})`,
    ...filters.map(({ condition }) => condition),
  ];
  const order = key.map(({ name: column }) => column).join(', ');
  return [
    {
      name,
      wave: 0,
      description: sentences(`Rows of ${table.name} in pages, by ${order}`, table),
      sql: lines(
        selectLine(list),
        ...from,
        `where ${conditions.join('\n  and ')}`,
        `order by ${keySql.join(', ')}`,
        'limit :limit',
      ),
      params: [...after, ...filters.map(({ param }) => param), LIMIT],
      result: fields,
      reads,
    },
  ];
}

function filterColumns(
  { table, columns }: TableParts,
  key: readonly CatalogColumn[],
): readonly CatalogColumn[] {
  const names = new Set(table.indexes.flatMap(({ leading }) => leading ?? []));
  return [...names]
    .flatMap((name) => columns.get(name) ?? [])
    .filter(
      (column) => isGiven(column) && column.kind !== 'number' && !(key.length === 1 && key[0] === column),
    )
    .slice(0, FILTERS_MAX);
}

function filtersFor(
  column: CatalogColumn,
  giveName: (wanted: string) => string,
): readonly { readonly param: ProposedParam; readonly condition: string }[] {
  const filter = (suffix: string, operator: string, description?: string) => {
    const name = giveName(`${paramNameOf(column)}${suffix}`);
    const param = paramFor(name, column, false);
    const condition = `(:${name} is null or t.${column.sql} ${operator} :${name})`;
    return { param: description === undefined ? param : { ...param, description }, condition };
  };
  if (column.kind !== 'date' && column.kind !== 'datetime') return [filter('', '=')];
  return [
    filter('_from', '>=', `Only with a ${column.name} then or later`),
    filter('_before', '<', `Only with an earlier ${column.name}`),
  ];
}

/** Names that begin with `svc_` are reserved for what says who calls. */
function paramNameOf({ name }: CatalogColumn): string {
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
