import type { Catalog, ColumnGrant, CreatedAccount } from '../../catalog.ts';
import { DatabaseError } from '../../errors.ts';
import { closeGracefully, openSession } from '../connection/database-session.ts';
import { sendAll, type Statement } from '../connection/pipeline.ts';
import { kindOf, sqlStateOf, textOf } from '../connection/server-errors.ts';
import { scramVerifier } from './scram-verifier.ts';
import type { PostgresTarget } from './target.ts';

const DUPLICATE_OBJECT = '42710';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Without semicolons. The first one creates the role, and is the place for a password. */
export function accountStatements(
  catalog: Catalog,
  account: string,
  grants: readonly ColumnGrant[],
): readonly string[] {
  const role = quoted(account);
  const named = grants.flatMap(({ table, columns }) => [
    table.schema,
    ...columns.flatMap(({ typeSchema }) => typeSchema ?? []),
  ]);
  const schemas = [...new Set(named)].map(quoted);
  return [
    `CREATE ROLE ${role} LOGIN`,
    `GRANT CONNECT ON DATABASE ${quoted(catalog.name)} TO ${role}`,
    ...schemas.map((schema) => `GRANT USAGE ON SCHEMA ${schema} TO ${role}`),
    ...grants.map(({ table, columns }) => {
      const names = columns.map(({ name }) => quoted(name)).join(', ');
      return `GRANT SELECT (${names}) ON ${quoted(table.schema)}.${quoted(table.name)} TO ${role}`;
    }),
  ];
}

export function passwordHint(account: string): string {
  return `\\password ${quoted(account)}`;
}

/** Runs `accountStatements` in one transaction, the role with a password of which the server gets a verifier. */
export async function createAccount(
  { config }: PostgresTarget,
  [create = '', ...grants]: readonly string[],
  password: string,
): Promise<CreatedAccount> {
  const session = await openSession(config, new AbortController().signal);
  const unit: readonly Statement[] = [
    'begin transaction read write',
    "select pg_catalog.set_config('statement_timeout', '30s', true)",
    `${create} PASSWORD '${scramVerifier(password)}'`,
    ...grants,
    'commit',
  ].map((text) => ({ text }));
  const [result] = await sendAll(session, [unit]);
  // What was begun and not committed ends with the session.
  closeGracefully(session);
  const error = result?.error;
  if (error === undefined) return 'created';
  if (sqlStateOf(error) === DUPLICATE_OBJECT) return 'exists';
  if (sqlStateOf(error) === INSUFFICIENT_PRIVILEGE) return 'not_allowed';
  throw new DatabaseError(kindOf(error), textOf(error), { cause: error });
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
