import type { CatalogColumn } from '../../databases/driver/catalog.ts';
import { nameGiver, slugOf, wordsOf } from '../capability-names.ts';
import { lines, LIMIT, selectLine, sentences, type Draft, type Drafts } from './lookups.ts';
import type { ProposedParam } from '../model.ts';
import { pagingKey, ROWS_MAX, select, selectAll, type TableParts } from './table-parts.ts';

const SEARCHED_MAX = 3;
/** More groups are no overview. */
const GROUPS_MAX = 1000;
const QUERY_MAX = 100;
/** People search by columns with these names. */
const TELLING = new Set(['name', 'title', 'label', 'subject', 'headline', 'description', 'summary']);

/** `search_T`: rows with a text in one of their columns. */
export function searchDrafts(parts: TableParts, contains: (column: string, param: string) => string): Drafts {
  const { table, slug, columns } = parts;
  const name = `search_${slug}`;
  const texts = [...columns.values()].filter(({ kind, labels }) => kind === 'text' && labels === undefined);
  if (texts.length === 0) return [];
  const indexed = new Set(table.indexes.flatMap(({ partsOf }) => partsOf));
  const served = texts.filter((column) => indexed.has(column.name));
  const tooMany = served.length > 0 ? undefined : whyTooMany(parts);
  if (tooMany !== undefined) return [{ name, reason: `${tooMany}, and no index finds parts of its texts` }];
  const telling = ({ name: column }: CatalogColumn): number =>
    wordsOf(column).some((word) => TELLING.has(word)) ? 0 : 1;
  const searched = (served.length > 0 ? served : texts)
    .toSorted((a, b) => telling(a) - telling(b))
    .slice(0, SEARCHED_MAX);
  const { list, from, fields, reads } = selectAll(parts);
  const order = pagingKey(parts) ?? searched;
  const where = searched.map(({ sql }) => contains(`t.${sql}`, ':query'));
  const names = searched.map((column) => column.name).join(' or ');
  const query: ProposedParam = {
    name: 'query',
    type: 'string',
    required: true,
    minLength: 1,
    maxLength: QUERY_MAX,
    description: 'What to look for',
  };
  return [
    {
      name,
      wave: 2,
      description: sentences(`Rows of ${table.name} whose ${names} contains a text, in any case`, table),
      sql: lines(
        selectLine(list),
        ...from,
        `where ${where.join('\n  or ')}`,
        `order by ${order.map(({ sql }) => `t.${sql}`).join(', ')}`,
        'limit :limit',
      ),
      params: [query, LIMIT],
      result: fields,
      reads,
    },
  ];
}

/** `count_T_by_C`: the number of rows for each value of a column with few values. */
export function countDrafts(parts: TableParts): Drafts {
  const { table, slug, columns } = parts;
  const references = new Set(table.foreignKeys.flatMap(({ columns: own }) => (own.length === 1 ? own : [])));
  const isWholeKey = ({ name }: CatalogColumn): boolean =>
    table.keys.some((key) => key.columns.length === 1 && key.columns[0] === name);
  const grouped = [...columns.values()].filter(
    (column) => (column.labels !== undefined || references.has(column.name)) && !isWholeKey(column),
  );
  const tooMany = whyTooMany(parts);
  return grouped.map((column) => {
    const name = `count_${slug}_by_${slugOf(column.name)}`;
    const groups = groupsOf(column, table.rows ?? 0);
    if (tooMany !== undefined) return { name, reason: `${tooMany}, and counting reads all of them` };
    if (groups > GROUPS_MAX) return { name, reason: `about ${counted(groups)} values` };
    return countDraft(parts, column, name);
  });
}

function countDraft(parts: TableParts, column: CatalogColumn, name: string): Draft {
  const { list, expressions, from, fields, reads } = select(parts, [column]);
  const names = fields.map((field) => field.name);
  const count = nameGiver(63, names)('count');
  const what = `Number of rows of ${parts.table.name} by ${column.name}, most first`;
  return {
    name,
    wave: 3,
    description: sentences(what, parts.table),
    sql: lines(
      selectLine([...list, `count(*) as ${count}`]),
      ...from,
      `group by ${expressions.join(', ')}`,
      `order by count(*) desc, ${expressions[0]}`,
    ),
    params: [],
    result: [...fields, { name: count, type: 'integer', nullable: false, description: 'Number of rows' }],
    reads,
  };
}

/** From the statistics; 0 if they have nothing. */
function groupsOf({ distinct = 0 }: CatalogColumn, rows: number): number {
  return distinct < 0 ? -distinct * rows : distinct;
}

function whyTooMany({ table: { rows, kind } }: TableParts): string | undefined {
  if (rows === undefined) return `nothing tells how many rows a ${kind} has`;
  return rows < ROWS_MAX ? undefined : `it has about ${counted(rows)} rows`;
}

function counted(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
