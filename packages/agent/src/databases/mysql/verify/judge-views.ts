import type { SqlToken } from '../../sql/scanner.ts';
import type { OneSelect } from '../../sql/one-select.ts';
import { isName, isOperator, isWord } from '../../sql/places/tokens.ts';
import type { MysqlSession } from '../connection/session.ts';
import { distinct, titleOf, type Table } from '../dialect/quoted.ts';
import { accountOf } from './grants/missing-grants.ts';
import { judgeText } from './read-statement.ts';

export interface ViewProblem {
  readonly message: string;
  readonly detail: string;
  readonly remedy?: string;
}

const MOST_VIEWS = 500;

/**
 * Reads the text of every view that the statement may reach, directly or behind others, and judges it like the statement.
 * Which names are tables only the server knows, so that each name is looked up that could be one.
 */
export async function judgeViews(
  session: MysqlSession,
  select: OneSelect,
  database: string,
  allowFunctions: readonly string[],
): Promise<ViewProblem | undefined> {
  const seen = new Set<string>();
  let next = select.names.map(({ schema, name }) => ({ schema: schema ?? database, name }));
  while (next.length > 0) {
    const asked = distinct(next).filter((each) => !seen.has(titleOf(each)));
    for (const each of asked) seen.add(titleOf(each));
    if (seen.size > MOST_VIEWS * 10) return { message: 'reads too many views', detail: '' };
    next = [];
    for (const view of await findViews(session, asked)) {
      const title = `${view.schema}.${view.name}`;
      if (view.text === '') {
        return {
          message: 'reads a view whose text the account may not see: grant it SHOW VIEW',
          detail: `view ${title}`,
          remedy: `GRANT SELECT, SHOW VIEW ON ${titleOf(view)} TO ${await accountOf(session)}`,
        };
      }
      const judged = judgeText(view.text, allowFunctions);
      if (!judged.ok) return { message: `reads a view that ${judged.problem}`, detail: `view ${title}` };
      const tables = tablesOf(judged.select.body);
      const hidden = await firstHidden(session, tables);
      if (hidden !== undefined) {
        return {
          message:
            'reads a view over a table that the account may not see, which could be another view: grant it SHOW VIEW',
          detail: `view ${title} over ${hidden.schema}.${hidden.name}`,
          remedy: `GRANT SHOW VIEW ON ${titleOf(hidden)} TO ${await accountOf(session)}`,
        };
      }
      next.push(...tables);
    }
  }
  return undefined;
}

export async function findViews(
  session: MysqlSession,
  names: readonly Table[],
): Promise<readonly (Table & { readonly text: string })[]> {
  if (names.length === 0) return [];
  const rows = await session.askWith(
    `select table_schema as s, table_name as n, view_definition as t from information_schema.views where ${anyOf(names)}`,
    names.flatMap(({ schema, name }) => [schema, name]),
  );
  return rows.map(({ s, n, t }) => ({
    schema: String(s),
    name: String(n),
    text: t === null ? '' : String(t),
  }));
}

/** A table is known if the account may see any of it. */
async function firstHidden(session: MysqlSession, tables: readonly Table[]): Promise<Table | undefined> {
  if (tables.length === 0) return undefined;
  const rows = await session.askWith(
    `select table_schema as s, table_name as n from information_schema.tables where ${anyOf(tables)}`,
    tables.flatMap(({ schema, name }) => [schema, name]),
  );
  const known = new Set(rows.map(({ s, n }) => titleOf({ schema: String(s), name: String(n) })));
  return tables.find((table) => !known.has(titleOf(table)));
}

/** Servers differ in whether names ignore case. One name too many does no harm. */
function anyOf(names: readonly Table[]): string {
  const each = 'lower(table_schema) = lower(?) and lower(table_name) = lower(?)';
  return names.map(() => `(${each})`).join(' or ');
}

/** Servers write the tables of a view after FROM and JOIN, each with its schema, and sometimes without quotes. */
export function tablesOf(body: readonly SqlToken[]): readonly Table[] {
  return body.flatMap((token, index) => {
    const [dot, name] = [body[index + 1], body[index + 2]];
    if (!isName(token) || dot?.text !== '.' || !isName(name)) return [];
    let before = index - 1;
    while (isOperator(body[before], '(')) before -= 1;
    const isTable = isWord(body[before], /^(?:from|join|straight_join)$/i);
    return isTable ? [{ schema: token.text, name: name.text }] : [];
  });
}
