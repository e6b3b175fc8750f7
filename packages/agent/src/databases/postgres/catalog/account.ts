import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import type { Catalog, ColumnGrant, CreatedAccount } from '../../driver/catalog.ts';
import type { ServerTarget } from '../../driver/server-target.ts';
import type { PostgresConfig } from '../config/config.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { openSession } from '../connection/database-session.ts';
import { sendAll } from '../connection/pipeline.ts';
import { type Statement } from '../connection/statement.ts';
import { INSUFFICIENT_PRIVILEGE, kindOf, sqlStateOf, textOf } from '../connection/server-errors.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';

const DUPLICATE_OBJECT = '42710';

/** Without semicolons. The first one creates the role, and takes a password. */
export function accountStatements(
  catalog: Catalog,
  account: string,
  grants: readonly ColumnGrant[],
): readonly string[] {
  const role = quoteIdentifier(account);
  const named = grants.flatMap(({ table, columns }) => [
    table.schema,
    ...columns.flatMap(({ typeSchema }) => typeSchema ?? []),
  ]);
  const schemas = [...new Set(named)].map(quoteIdentifier);
  return [
    `CREATE ROLE ${role} LOGIN`,
    `GRANT CONNECT ON DATABASE ${quoteIdentifier(catalog.name)} TO ${role}`,
    ...schemas.map((schema) => `GRANT USAGE ON SCHEMA ${schema} TO ${role}`),
    ...grants.map(({ table, columns }) => {
      const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ');
      return `GRANT SELECT (${names}) ON ${quoteIdentifier(table.schema)}.${quoteIdentifier(table.name)} TO ${role}`;
    }),
  ];
}

export function passwordHint(account: string): string {
  return `\\password ${quoteIdentifier(account)}`;
}

/** Runs `accountStatements` in one transaction. The server gets a verifier of the password. */
export async function createAccount(
  { config }: ServerTarget<PostgresConfig>,
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
  // The session's end rolls back what was not committed.
  session.close();
  const error = result?.error;
  if (error === undefined) return 'created';
  if (sqlStateOf(error) === DUPLICATE_OBJECT) return 'exists';
  if (sqlStateOf(error) === INSUFFICIENT_PRIVILEGE) return 'not_allowed';
  throw new DatabaseError(kindOf(error), textOf(error), { cause: error });
}

const ITERATIONS = 4096;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/** What PostgreSQL stores of an ASCII password: neither the statement nor the server's log has the password. */
function scramVerifier(password: string, salt: Buffer = randomBytes(SALT_BYTES)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const key = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(key('Client Key')).digest('base64');
  const serverKey = key('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
