import { PLACE_OF_FILTERS } from '../../capabilities/clauses.ts';
import type { CatalogColumn } from '../../databases/driver/catalog.ts';
import { nameGiver, slugOf } from '../capability-names.ts';
import type { ProposedParam } from '../model.ts';
import { isGiven, paramFor } from './column-types.ts';
import { LIMIT, lines, paramNameOf, selectLine, sentences, type Drafts } from './lookups.ts';
import { isKept, ordersFor } from './orders.ts';
import { pagingKeys, selectAll, type Selection, type TableParts } from './table-parts.ts';

const FILTERED_COLUMNS_MAX = 8;
const FILTERS_MAX = 12;
/** Those of `paging`. */
const KEY_MAX = 4;
/** Names of parameters that do not come from columns. */
const OWN_PARAMS = ['after', 'cursor', 'limit', 'query', 'sort'];

/** `list_T`: pages by key, with a filter for each column that an index finds. */
export function listDrafts(parts: TableParts): Drafts {
  const { table, slug } = parts;
  const name = `list_${slug}`;
  const selection = selectAll(parts);
  const { list, from, fields, reads } = selection;
  const keys = pagingKeys(parts);
  const cursorKey = keys.find((each) => hasCursor(each, selection));
  const key = cursorKey ?? keys[0];
  if (key === undefined) {
    const reason =
      table.keys.length === 0
        ? `a ${table.kind} without a key to page by`
        : 'no key to page by: its columns must never be null, and callers must see all of them';
    return [{ name, reason }];
  }
  const giveName = nameGiver(63, OWN_PARAMS);
  const after = cursorKey === undefined ? afterKey(key, giveName) : [];
  const filters = filterColumns(parts, key).flatMap((column) => filtersFor(column, giveName));
  const all = [...after, ...filters.slice(0, FILTERS_MAX)];
  const by = key.map(({ name: column }) => column).join(', ');
  const draft = { name, wave: 0, result: fields, reads };
  const where = all.length === 0 ? [] : [`where ${PLACE_OF_FILTERS}`];
  const select = lines(selectLine(list), ...from, ...where);
  if (cursorKey === undefined) {
    return [
      {
        ...draft,
        description: sentences(`Rows of ${table.name} in pages, by ${by}`, table),
        sql: lines(select, `order by ${key.map(({ sql }) => `t.${sql}`).join(', ')}`, 'limit :limit'),
        params: [...all, LIMIT],
      },
    ];
  }
  const sort = ordersFor(parts, key, selection);
  const isOnly = sort.length === 1;
  const order = isOnly ? by : `${by} or in the order of \`sort\``;
  return [
    {
      ...draft,
      description: sentences(`Rows of ${table.name} in pages, by ${order}`, table),
      sql: select,
      params: all,
      ...(isOnly ? {} : { sort }),
      paging: key.map((column) => selection.fieldOf.get(column)?.name ?? column.name),
    },
  ];
}

/** Whether `paging` can have the key: the file must say that its fields are never null. */
function hasCursor(key: readonly CatalogColumn[], { fieldOf }: Selection): boolean {
  return (
    key.length <= KEY_MAX && key.every((column) => isKept(column) && fieldOf.get(column)?.nullable === false)
  );
}

/** Parameters with the key of the last row of the page before; the first has the condition. */
function afterKey(
  key: readonly CatalogColumn[],
  giveName: (wanted: string) => string,
): readonly ProposedParam[] {
  const params = key.map((column) => ({
    ...paramFor(key.length === 1 ? 'after' : giveName(`after_${slugOf(column.name)}`), column, false),
    description: `The last ${column.name} of the page before`,
  }));
  const columns = key.map(({ sql }) => `t.${sql}`).join(', ');
  const values = params.map(({ name }) => `:${name}`).join(', ');
  const filter = key.length === 1 ? `${columns} > ${values}` : `(${columns}) > (${values})`;
  return params.map((param, at) => (at === 0 ? { ...param, filter } : param));
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
    .slice(0, FILTERED_COLUMNS_MAX);
}

function filtersFor(column: CatalogColumn, giveName: (wanted: string) => string): readonly ProposedParam[] {
  const filter = (suffix: string, operator: string, description?: string): ProposedParam => {
    const name = giveName(`${paramNameOf(column)}${suffix}`);
    return {
      ...paramFor(name, column, false),
      ...(description === undefined ? {} : { description }),
      filter: `t.${column.sql} ${operator} :${name}`,
    };
  };
  if (column.kind !== 'date' && column.kind !== 'datetime') return [filter('', '=')];
  return [
    filter('_from', '>=', `Only with a ${column.name} then or later`),
    filter('_before', '<', `Only with an earlier ${column.name}`),
  ];
}
