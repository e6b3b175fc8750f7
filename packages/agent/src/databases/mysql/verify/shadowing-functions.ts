import type { OneSelect } from '../../sql/one-select.ts';
import type { MysqlSession } from '../connection/session.ts';
import { knownFunctions } from './known-functions.ts';

/**
 * Functions of the database's own making that a statement would call under a name which is known to only read, or is a
 * word of SQL: some of these one kind of server has and the other has not.
 */
export async function shadowingFunctions(
  session: MysqlSession,
  { functions, calledWords }: OneSelect,
  allowed: readonly string[],
): Promise<readonly string[]> {
  const bare = functions.filter(({ schema, isQuoted }) => schema === undefined && !isQuoted);
  const known = bare.map(({ name }) => name).filter((name) => knownFunctions.has(name));
  const names = [...new Set([...known, ...calledWords])].filter((name) => !allowed.includes(name));
  if (names.length === 0) return [];
  const rows = await session.askWith(
    `select lower(routine_name) as n from information_schema.routines
      where routine_schema = database() and lower(routine_name) in (${names.map(() => '?').join(', ')})`,
    names,
  );
  return rows.map(({ n }) => String(n));
}
