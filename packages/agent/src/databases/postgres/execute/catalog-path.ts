import type { Statement } from '../connection/pipeline.ts';

/**
 * Goes before statements of the service's own, in their transaction. On the account's path an operator of anybody who may
 * create one there can fit better than PostgreSQL's, and its function would run with the account's rights. What resolves
 * names for the author's SQL goes before it.
 */
export const CATALOG_PATH: Statement = {
  text: "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)",
};
