import type { Statement } from '../connection/pipeline.ts';

/**
 * Goes before statements of the service's own, in their transaction. Whoever may create objects on the account's search
 * path could define an SQL operator that fits better than PostgreSQL's, and its function would run with the account's
 * rights. What resolves names for the author's SQL goes before it.
 */
export const PIN_SEARCH_PATH: Statement = {
  text: "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)",
};
