import type { AccountFinding } from '../../driver/driver.ts';
import { isLoss, numberOf } from '../connection/server-errors.ts';
import type { MysqlSession } from '../connection/session.ts';
import { quoted } from '../dialect/quoted.ts';
import { covers } from './grants.ts';
import { SYSTEM, type Account } from './read-account.ts';

/** Installations of MariaDB have let everybody use `test` and databases that begin with `test_`. */
const OPEN = ['test', 'test_'];
/** ER_BAD_DB_ERROR: the account might use a database of this name. */
const ABSENT = 1049;

/**
 * On MariaDB what is granted on a database to ''@'%', or to the same user name at another host, holds for the account too, and
 * SHOW GRANTS does not have it: databases and tables show it that the account sees without a grant of its own.
 */
export async function foreignGrants(
  session: MysqlSession,
  account: Account,
): Promise<readonly AccountFinding[]> {
  const own = account.grants.filter(({ privileges }) => privileges.some((each) => each !== 'USAGE'));
  // With a privilege on all databases the account sees them all, which the audit reports anyway.
  if (!account.server.isMariaDb || own.some(({ object }) => object === '*.*')) return [];
  const isOwn = (schema: string, table?: string): boolean =>
    own.some(({ object }) => covers(object, false, schema, table));
  const rows = await session.ask(
    `select schema_name as s from information_schema.schemata where schema_name not in ${SYSTEM}`,
  );
  const found = new Set([
    ...rows.map(({ s }) => String(s)).filter((schema) => !isOwn(schema)),
    ...account.tables.filter(({ schema, name }) => !isOwn(schema, name)).map(({ schema }) => schema),
  ]);
  for (const name of OPEN) if (!isOwn(name) && (await isOpen(session, name))) found.add(name);
  return [...found].map((schema) => {
    const text = `'${schema.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
    return {
      problem: `the account may use the database ${quoted(schema)} without a grant of its own: by one to everybody (''@'%'), or to its user name at another host`,
      remedy: `DELETE FROM mysql.db WHERE User = '' AND ${text} LIKE Db; FLUSH PRIVILEGES; -- if this stays, give the agent an account with a user name of its own`,
    };
  });
}

async function isOpen(session: MysqlSession, database: string): Promise<boolean> {
  try {
    await session.ask(`show tables from ${quoted(database)}`);
    return true;
  } catch (error) {
    if (isLoss(error)) throw error;
    return numberOf(error) === ABSENT;
  }
}
