import type { Capability } from '../../../../capabilities/model.ts';
import { isName, isOperator, isWord, parameterIndexes } from '../../../sql/places/tokens.ts';
import { rewrite, type Rewriting } from '../../../sql/places/rewrite.ts';
import { scanSql, type SqlToken } from '../../../sql/scanner.ts';
import { isLoss, numberOf } from '../../connection/server-errors.ts';
import type { MysqlSession } from '../../connection/session.ts';
import { distinct, quoted, titleOf, type Table } from '../../dialect/quoted.ts';
import { knownFunctions } from '../known-functions.ts';
import { lexicon } from '../lexicon.ts';
import type { ReadStatement } from '../read-statement.ts';
import { namedTables } from './named-tables.ts';

/** ER_TABLEACCESS_DENIED, ER_DBACCESS_DENIED */
const NO_TABLE = new Set([1142, 1044]);
const NO_COLUMN = 1143;
const NO_ROUTINE = 1370;
const MOST_COLUMNS = 100;

/**
 * The grants that the account lacks to run a statement, found by preparing smaller ones: the servers tell of one object at a
 * time, and hide from an account what it may not see.
 */
export async function missingGrants(
  session: MysqlSession,
  { sql }: Capability,
  { select }: ReadStatement,
): Promise<readonly string[]> {
  const user = await accountOf(session);
  const [row] = await session.ask('select database() as name');
  const database = String(row?.['name']);
  const english = await session.ask("set session lc_messages = 'en_US'").then(
    () => true,
    () => false,
  );
  try {
    const named = namedTables(select.body).map(({ schema = database, name }) => ({ schema, name }));
    const tables = distinct([...named, ...(await tablesOfViews(session, named))]);
    const grants: string[] = [];
    for (const table of tables) {
      const { number } = await refusalOf(session, `select 1 from ${titleOf(table)}`);
      if (NO_TABLE.has(number)) grants.push(`GRANT SELECT ON ${titleOf(table)} TO ${user}`);
    }
    if (grants.length === 0) grants.push(...(await columnGrants(session, sql, select.body, named, user)));
    for (const { schema = database, name } of select.functions) {
      if (knownFunctions.has(name)) continue;
      const routine = titleOf({ schema, name });
      const { number } = await refusalOf(session, `select ${routine}()`);
      if (number === NO_ROUTINE) grants.push(`GRANT EXECUTE ON FUNCTION ${routine} TO ${user}`);
    }
    return [...new Set(grants)];
  } finally {
    if (english) await session.ask('set session lc_messages = @@global.lc_messages');
  }
}

/** In the form of GRANT. */
export async function accountOf(session: MysqlSession): Promise<string> {
  const [row] = await session.ask('select current_user() as account');
  const account = String(row?.['account']);
  const at = account.lastIndexOf('@');
  return `${quoted(account.slice(0, at))}@${quoted(account.slice(at + 1))}`;
}

/** The tables behind views that run with the rights of their reader. */
async function tablesOfViews(session: MysqlSession, named: readonly Table[]): Promise<readonly Table[]> {
  const found: Table[] = [];
  // Tables that are found meanwhile are looked at as well.
  const tables = [...named];
  for (const { schema, name } of tables) {
    const [view] = await session.askWith(
      `select view_definition as text from information_schema.views
        where table_schema = ? and table_name = ? and security_type = 'INVOKER'`,
      [schema, name],
    );
    const scanned = scanSql(String(view?.['text'] ?? ''), lexicon);
    if (view === undefined || !scanned.ok) continue;
    const own = namedTables(scanned.tokens).map((table) => ({
      schema: table.schema ?? schema,
      name: table.name,
    }));
    tables.push(...own.filter((table) => !tables.some((other) => titleOf(other) === titleOf(table))));
    found.push(...own);
  }
  return found;
}

/** Leaves out the columns that the server refuses, one after the other. */
async function columnGrants(
  session: MysqlSession,
  sql: string,
  body: readonly SqlToken[],
  tables: readonly Table[],
  user: string,
): Promise<readonly string[]> {
  const rewritings: Rewriting[] = parameterIndexes(body).map((index) => ({
    start: index,
    end: index + 1,
    text: '1',
  }));
  const start = body[0]?.start ?? 0;
  const lacking = new Map<string, Set<string>>();
  for (let count = 0; count < MOST_COLUMNS; count += 1) {
    const text = rewrite(sql, body, rewritings).slice(start);
    const { number, message } = await refusalOf(session, text.replace(/[\s;]+$/, ''));
    const [, column, name] = / for column '(.*)' in table '(.*)'$/.exec(message) ?? [];
    if (number !== NO_COLUMN || column === undefined || name === undefined) break;
    for (const table of tables.filter((each) => each.name.toLowerCase() === name.toLowerCase())) {
      const alone = await refusalOf(session, `select ${quoted(column)} from ${titleOf(table)}`);
      if (alone.number !== NO_COLUMN) continue;
      const own = lacking.get(titleOf(table)) ?? new Set();
      lacking.set(titleOf(table), own.add(quoted(column)));
    }
    const added = body
      .flatMap((_, index) => withoutColumn(body, index, column))
      .filter(({ start: from }) => !rewritings.some((other) => other.start === from));
    if (added.length === 0) break;
    rewritings.push(...added);
  }
  const columns = Array.from(
    lacking,
    ([table, names]) => `GRANT SELECT (${[...names].join(', ')}) ON ${table} TO ${user}`,
  );
  if (columns.length > 0 || !body.some((token) => isOperator(token, '*'))) return columns;
  const whole: string[] = [];
  for (const table of tables) {
    const { number } = await refusalOf(session, `select * from ${titleOf(table)}`);
    if (NO_TABLE.has(number)) whole.push(`GRANT SELECT ON ${titleOf(table)} TO ${user}`);
  }
  return whole;
}

/** Replaces the column at that index, with the names before it, by null. */
function withoutColumn(body: readonly SqlToken[], index: number, column: string): readonly Rewriting[] {
  const token = body[index];
  if (!isName(token) || token.text.toLowerCase() !== column.toLowerCase()) return [];
  if (isOperator(body[index + 1], '.', '(') || isWord(body[index - 1], /^as$/i)) return [];
  let start = index;
  while (isOperator(body[start - 1], '.') && isName(body[start - 2])) start -= 2;
  return [{ start, end: index + 1, text: 'null' }];
}

/** The error with which the server refuses to prepare a text; number 0 if it accepts it. */
async function refusalOf(
  session: MysqlSession,
  text: string,
): Promise<{ readonly number: number; readonly message: string }> {
  try {
    await session.prepare(text);
    session.connection.unprepare(text);
    return { number: 0, message: '' };
  } catch (error) {
    if (isLoss(error)) throw error;
    return { number: numberOf(error) ?? 0, message: error instanceof Error ? error.message : '' };
  }
}
