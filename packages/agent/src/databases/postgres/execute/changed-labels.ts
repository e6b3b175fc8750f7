import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseError } from '../../driver/errors.ts';
import type { BoundParam } from './prepared-query.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { askCatalog } from './own-statements.ts';

/** From the JSON array that the server makes of them. */
export function enumLabels(json: string | null | undefined): readonly string[] {
  const labels: unknown = JSON.parse(json ?? '[]');
  return Array.isArray(labels) ? labels.filter((label) => typeof label === 'string') : [];
}

/** Refused calls make the agent read the labels, but not more often than this: callers could load the database with it. */
const ASK_AGAIN_MS = 1000;
const TIMEOUT_MS = 5000;

const LABELS = `select e.enumtypid, pg_catalog.json_agg(e.enumlabel order by e.enumsortorder)
  from pg_catalog.pg_enum e where e.enumtypid = any ($1::pg_catalog.oid[]) group by e.enumtypid`;

/**
 * Finds the parameters whose enum has other labels than at the start, when they became part of the schema, and tells of
 * them once. Undefined if no parameter took its labels from the database.
 */
export function watchLabels(
  pool: SessionPool,
  capability: string,
  params: readonly BoundParam[],
): (() => Promise<readonly string[]>) | undefined {
  const watched = params.flatMap(({ param: { name, schema }, type }) => {
    const labels = JSON.stringify(type?.labels ?? []);
    const isTaken = labels !== '[]' && JSON.stringify((schema.items ?? schema).enum) === labels;
    return type !== undefined && isTaken ? [{ name, enumOid: type.base, labels }] : [];
  });
  if (watched.length === 0) return undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let isAsking = false;
  let isTold = false;
  return async () => {
    if (isTold || isAsking) return [];
    isAsking = true;
    // Rather late than never: this may be the only value that is refused after the change.
    await pause(Math.max(0, askedAt + ASK_AGAIN_MS - performance.now()), undefined, { ref: false });
    askedAt = performance.now();
    const oids = `{${watched.map(({ enumOid }) => enumOid).join(',')}}`;
    try {
      const statement = { text: LABELS, values: [oids] };
      const rows = await askCatalog(pool, statement, { capability, timeoutMs: TIMEOUT_MS });
      const present = new Map(rows.map(([oid, labels]) => [Number(oid), JSON.stringify(enumLabels(labels))]));
      const changed = watched.filter(({ enumOid, labels }) => present.get(enumOid) !== labels);
      isTold = changed.length > 0;
      return changed.map(({ name }) => name);
    } catch (error) {
      // The next refused call reads them again.
      if (error instanceof DatabaseError) return [];
      throw error;
    } finally {
      isAsking = false;
    }
  };
}
