import type { Capability } from '../../../capabilities/model.ts';
import { textArray } from '../dialect/text-array.ts';
import { askCatalog, runOwnStatements } from '../execute/own-statements.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { RelationKeys } from './one-row.ts';
import { namedRelations } from './statement/readable-statements.ts';

/** On the account's own path, as the author's SQL is. */
const RELATIONS = `select a.name, pg_catalog.to_regclass(a.name)::pg_catalog.oid
  from pg_catalog.unnest($1::pg_catalog.text[]) a (name)`;
/**
 * The whole table must keep to the index: not a part of its rows, and no rows of tables that inherit from it, which have
 * indexes of their own.
 */
const KEYS = `select i.indrelid, (select json_agg(a.attname) from pg_attribute a
    where a.attrelid = i.indrelid and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
  from pg_index i join pg_class c on c.oid = i.indrelid
  where i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
    and not (c.relkind = 'r' and c.relhassubclass) and i.indrelid = any ($1::text[]::oid[])`;

/** The oids of relations as `namedRelations` writes them, without those that do not exist. */
export async function relationIds(
  pool: SessionPool,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const statements = [{ text: RELATIONS, values: [textArray([...new Set(names)])] }];
  const { results } = await runOwnStatements(pool, { statements });
  const rows = results[0]?.rows ?? [];
  return new Map(
    rows.flatMap(([name, id]) => (typeof name === 'string' && typeof id === 'string' ? [[name, id]] : [])),
  );
}

/** The columns that no two rows have in common, for all relations that the capabilities read. */
export async function relationKeys(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<RelationKeys> {
  const ids = await relationIds(pool, await namedRelations(capabilities));
  const keys = new Map<string, (readonly string[])[]>();
  const statement = { text: KEYS, values: [textArray([...new Set(ids.values())])] };
  for (const [id, columns] of await askCatalog(pool, statement)) {
    const found: readonly string[] = JSON.parse(columns ?? '[]');
    keys.set(id ?? '', [...(keys.get(id ?? '') ?? []), found]);
  }
  return new Map([...ids].map(([name, id]) => [name, keys.get(id) ?? []]));
}
