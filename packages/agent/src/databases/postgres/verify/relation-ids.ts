import { bindValue } from '../execute/bind-values.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import type { SessionPool } from '../pool/session-pool.ts';

const TIMEOUT_MS = 30_000;
/** On the account's own path, as the author's SQL is. */
const RELATIONS = `select a.name, pg_catalog.to_regclass(a.name)::pg_catalog.oid
  from pg_catalog.unnest($1::pg_catalog.text[]) a (name)`;

/** Of relations as `namedRelations` writes them; those that there are not are left out. */
export async function relationIds(
  pool: SessionPool,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const texts = bindValue({ type: 'array', items: { type: 'string' } }, [...new Set(names)]);
  const { results } = await runOwnStatements(pool, {
    capability: '',
    timeoutMs: TIMEOUT_MS,
    statements: [{ text: RELATIONS, values: [texts] }],
  });
  const rows = results[0]?.rows ?? [];
  return new Map(
    rows.flatMap(([name, id]) => (typeof name === 'string' && typeof id === 'string' ? [[name, id]] : [])),
  );
}
