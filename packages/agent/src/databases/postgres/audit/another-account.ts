import type { Capability } from '../../../capabilities/model.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../execute/pin-search-path.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { namedRelations } from '../verify/statement/named-relations.ts';
import { bindValue } from '../execute/bind-values.ts';

const TIMEOUT_MS = 30_000;

/** On the account's own path, as the author's SQL is. What the server itself brings anybody may read. */
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

/** The statements, on one line, that make an account which may read what the capabilities name, and nothing else. */
export async function anotherAccount(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<string> {
  const texts = bindValue({ type: 'array', items: { type: 'string' } }, await namedRelations(capabilities));
  const { results } = await runOwnStatements(pool, {
    statements: [{ text: RELATIONS, values: [texts] }, { text: PATH }, PIN_SEARCH_PATH, { text: NAMES }],
    capability: '',
    timeoutMs: TIMEOUT_MS,
  });
  const [relations, path, , names] = results.map(({ rows }) => rows);
  const [database, role] = names?.[0] ?? [];
  const read = relations?.map(([, relation]) => relation) ?? [];
  const schemas = read.length > 0 ? (relations ?? []) : (path ?? []);
  const all = [...new Set(schemas.map(([schema]) => schema))].join(', ');
  // Functions may read what no statement names.
  const tables = read.length > 0 ? read.join(', ') : `ALL TABLES IN SCHEMA ${all}`;
  const statements = [
    `CREATE ROLE ${role} LOGIN`,
    `GRANT CONNECT ON DATABASE ${database} TO ${role}`,
    ...(all === ''
      ? []
      : [`GRANT USAGE ON SCHEMA ${all} TO ${role}`, `GRANT SELECT ON ${tables} TO ${role}`]),
  ];
  return `use another account: ${statements.join('; ')}; -- then set its password: \\password ${role}`;
}
