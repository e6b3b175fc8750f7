import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding, AccountNote } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { INSUFFICIENT_PRIVILEGE, sqlStateOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { askOfNeeded, missingGrants } from '../verify/grants/missing-grants.ts';
import { namedRelations, statementTrees } from '../verify/statement/readable-statements.ts';
import { textArray } from '../dialect/text-array.ts';
import { ABOUT_ACCOUNT, findingsStatement } from './findings-query.ts';
import { calledStatement, notesStatement } from './notes-query.ts';
import { askCatalog, PIN_SEARCH_PATH, runOwnStatements } from '../execute/own-statements.ts';

/** On the account's own path, as the author's SQL is. Everybody may read what the server itself brings. */
const RELATIONS = `select distinct pg_catalog.format('%I', n.nspname), pg_catalog.format('%I.%I', n.nspname, c.relname)
  from pg_catalog.unnest($1::pg_catalog.text[]) a (name)
  join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) pg_catalog.to_regclass(a.name)::pg_catalog.oid
  join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
  where n.nspname operator(pg_catalog.!~) '^pg_' and n.nspname operator(pg_catalog.<>) 'information_schema'
  order by 1, 2`;
const PATH = `select pg_catalog.format('%I', s.name)
  from pg_catalog.unnest(pg_catalog.current_schemas(false)) s (name)`;
const NAMES = `select format('%I', current_database()), r.name
  from generate_series(1, 1000) n, lateral (select concat('svc_reader', case when n > 1 then '_' || n end)) r (name)
  where not exists (select from pg_roles where rolname = r.name) order by n limit 1`;

const BY_ITSELF =
  'like every account of a PostgreSQL server it can by itself make large objects (lo_create), take advisory ' +
  'locks, notify, run DO blocks in languages that PUBLIC may use and end its own sessions; no statement takes that from ' +
  'one account';

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
  const [[version, , hasActing] = []] = await askCatalog(pool, ABOUT_ACCOUNT);
  // The account needs what a capability calls.
  const called = hasActing === 't' ? await calledBy(pool, capabilities) : [];
  const readsForeignTables = capabilities.some(({ allowForeignTables }) => allowForeignTables.length > 0);
  const findings = await askCatalog(pool, findingsStatement(Number(version), called, readsForeignTables));
  const needsAnother = findings.some(([, remedy]) => typeof remedy !== 'string');
  const another = needsAnother ? await anotherAccount(pool, capabilities) : '';
  return findings.map(([problem, remedy]) => ({ problem: problem ?? '', remedy: remedy ?? another }));
}

/** What every account can do, and what it can read that no capability reads. */
export async function describeAccount(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly AccountNote[]> {
  const [[, isSuperuser] = []] = await askCatalog(pool, ABOUT_ACCOUNT);
  if (isSuperuser === 't') return [];
  const rows = (await askOfNeeded(pool, await statementTrees(capabilities), notesStatement)) ?? [];
  const notes = rows.flatMap(([what, note, remedy]): readonly AccountNote[] => {
    if (what !== 'note' || typeof note !== 'string') return [];
    return [typeof remedy === 'string' ? { note, remedy } : { note }];
  });
  return [{ note: BY_ITSELF }, ...notes];
}

/** Functions in views and policies are among them. */
async function calledBy(pool: SessionPool, capabilities: readonly Capability[]): Promise<readonly string[]> {
  const rows = (await askOfNeeded(pool, await statementTrees(capabilities), calledStatement)) ?? [];
  return rows.flatMap(([what, oid]) => (what === 'call' && typeof oid === 'string' ? [oid] : []));
}

/** The statements, on one line, that make an account which can read what the capabilities name, and nothing else. */
async function anotherAccount(pool: SessionPool, capabilities: readonly Capability[]): Promise<string> {
  const named = { text: RELATIONS, values: [textArray(await namedRelations(capabilities))] };
  const statements = [named, { text: PATH }, PIN_SEARCH_PATH, { text: NAMES }];
  const { results } = await runOwnStatements(pool, { statements });
  const [relations, path, , names] = results.map(({ rows }) => rows);
  const [database, role] = names?.[0] ?? [];
  const read = relations?.map(([, relation]) => relation) ?? [];
  const schemas = read.length > 0 ? (relations ?? []) : (path ?? []);
  const all = [...new Set(schemas.map(([schema]) => schema))].join(', ');
  const tables = read.length > 0 ? read.join(', ') : `ALL TABLES IN SCHEMA ${all}`;
  const made = [
    `CREATE ROLE ${role} LOGIN`,
    `GRANT CONNECT ON DATABASE ${database} TO ${role}`,
    ...(all === ''
      ? []
      : [`GRANT USAGE ON SCHEMA ${all} TO ${role}`, `GRANT SELECT ON ${tables} TO ${role}`]),
  ];
  return `use another account: ${made.join('; ')}; -- then set its password: \\password ${role}`;
}
