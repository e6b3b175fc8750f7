import type { Capability } from '../../../capabilities/model.ts';
import { bindValue } from '../execute/bind-values.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../execute/pin-search-path.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { RelationKeys } from './one-row.ts';
import { relationIds } from './relation-ids.ts';
import { namedRelations } from './statement/named-relations.ts';

const TIMEOUT_MS = 30_000;
/**
 * The whole table must keep to the index: not a part of its rows, and no rows of tables that inherit from it, which have
 * indexes of their own.
 */
const KEYS = `select i.indrelid, (select json_agg(a.attname) from pg_attribute a
    where a.attrelid = i.indrelid and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
  from pg_index i join pg_class c on c.oid = i.indrelid
  where i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
    and not (c.relkind = 'r' and c.relhassubclass) and i.indrelid = any ($1::text[]::oid[])`;

/** What no two rows have in common, of all that the capabilities read. */
export async function relationKeys(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<RelationKeys> {
  const ids = await relationIds(pool, await namedRelations(capabilities));
  const wanted = bindValue({ type: 'array', items: { type: 'string' } }, [...new Set(ids.values())]);
  const { results } = await runOwnStatements(pool, {
    capability: '',
    timeoutMs: TIMEOUT_MS,
    statements: [PIN_SEARCH_PATH, { text: KEYS, values: [wanted] }],
  });
  const keys = new Map<string, (readonly string[])[]>();
  for (const [id = '', columns] of results[1]?.rows ?? []) {
    const found: readonly string[] = JSON.parse(columns ?? '[]');
    keys.set(id ?? '', [...(keys.get(id ?? '') ?? []), found]);
  }
  return new Map([...ids].map(([name, id]) => [name, keys.get(id) ?? []]));
}
