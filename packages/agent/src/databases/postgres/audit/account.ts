import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding, AccountNote } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { INSUFFICIENT_PRIVILEGE, sqlStateOf } from '../connection/server-errors.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../execute/pin-search-path.ts';
import type { Statement } from '../connection/pipeline.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { askOfNeeded, missingGrants, type Row } from '../verify/grants/missing-grants.ts';
import { statementTrees } from '../verify/grants/statement-trees.ts';
import { anotherAccount } from './another-account.ts';
import { ABOUT_ACCOUNT, findingsStatement } from './findings-query.ts';
import { calledStatement, notesStatement } from './notes-query.ts';

const AUDIT_TIMEOUT_MS = 30_000;

const BY_ITSELF =
  'like every account of a PostgreSQL server it can by itself make large objects (lo_create), take advisory ' +
  'locks, notify, run DO blocks in languages that PUBLIC may use and end its own sessions; no statement takes that from ' +
  'one account';

/** What the account may do beyond reading, each with its remedy. Throws `DatabaseError`. */
export async function auditAccount(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly AccountFinding[]> {
  try {
    return await findingsOf(pool, capabilities);
  } catch (error) {
    if (!(error instanceof DatabaseError) || sqlStateOf(error.cause) !== INSUFFICIENT_PRIVILEGE) throw error;
    const { sure } = await missingGrants(pool, {});
    if (sure.length === 0) throw error;
    const { kind, message, cause } = error;
    throw new DatabaseError(kind, `${message}; to grant it: ${sure.join('; ')}`, { cause });
  }
}

async function findingsOf(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly AccountFinding[]> {
  const [[version, , hasActing] = []] = await ask(pool, ABOUT_ACCOUNT);
  // What a capability calls it cannot do without.
  const called = hasActing === 't' ? await calledBy(pool, capabilities) : [];
  const readsForeignTables = capabilities.some(({ allowForeignTables }) => allowForeignTables.length > 0);
  const findings = await ask(pool, findingsStatement(Number(version), called, readsForeignTables));
  const needsAnother = findings.some(([, remedy]) => typeof remedy !== 'string');
  const another = needsAnother ? await anotherAccount(pool, capabilities) : '';
  return findings.map(([problem, remedy]) => ({ problem: problem ?? '', remedy: remedy ?? another }));
}

/** What the account may do that is no finding: what every account can, and reading what no capability reads. */
export async function describeAccount(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly AccountNote[]> {
  const [[, isSuperuser] = []] = await ask(pool, ABOUT_ACCOUNT);
  if (isSuperuser === 't') return [];
  const rows = (await askOfNeeded(pool, await statementTrees(capabilities), notesStatement)) ?? [];
  const notes = rows.flatMap(([what, note, remedy]): readonly AccountNote[] => {
    if (what !== 'note' || typeof note !== 'string') return [];
    return [typeof remedy === 'string' ? { note, remedy } : { note }];
  });
  return [{ note: BY_ITSELF }, ...notes];
}

/** The oids of all functions that capabilities may call, in views and policies too. */
async function calledBy(pool: SessionPool, capabilities: readonly Capability[]): Promise<readonly string[]> {
  const rows = (await askOfNeeded(pool, await statementTrees(capabilities), calledStatement)) ?? [];
  return rows.flatMap(([what, oid]) => (what === 'call' && typeof oid === 'string' ? [oid] : []));
}

async function ask(pool: SessionPool, statement: Statement): Promise<readonly Row[]> {
  const { results } = await runOwnStatements(pool, {
    statements: [PIN_SEARCH_PATH, statement],
    capability: '',
    timeoutMs: AUDIT_TIMEOUT_MS,
  });
  return results[1]?.rows ?? [];
}
