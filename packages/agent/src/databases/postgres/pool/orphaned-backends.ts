import { sendAll } from '../connection/pipeline.ts';
import {
  BACKEND_STARTED,
  destroy,
  type Backend,
  type DatabaseSession,
} from '../connection/database-session.ts';

/** The server process of an orphaned session. */
export interface OrphanedBackend extends Backend {
  /** The statements that may be running on it. */
  readonly texts: readonly string[];
}

const TERMINATE_TIMEOUT_MS = 1000;

/**
 * Terminates a process only if it is that very one and still runs one of those statements: behind a pooler it may serve
 * another client by now. The server cuts the text that it shows.
 */
const TERMINATE = `select a.pid, ${BACKEND_STARTED}, pg_catalog.pg_terminate_backend(a.pid)
from pg_catalog.pg_stat_activity a
join pg_catalog.json_to_recordset($1::pg_catalog.json) l(pid pg_catalog.int4, started pg_catalog.text, text pg_catalog.text)
on l.pid = a.pid and l.started = ${BACKEND_STARTED}
where a.state = 'active' and a.application_name = 'svc-agent' and a.query <> ''
and pg_catalog.left(l.text, pg_catalog.length(a.query)) = a.query`;

/**
 * Over another session, makes the server end those that still run. Returns those that run no more: 'unknown' when the
 * server does not say, and then the other session is of no more use.
 */
export async function terminateOrphans<Orphan extends OrphanedBackend>(
  session: DatabaseSession,
  orphans: readonly Orphan[],
): Promise<readonly Orphan[] | 'unknown'> {
  const sought = orphans.flatMap(({ processId, startedAt, texts }) =>
    texts.map((text) => ({ pid: Number(processId), started: startedAt, text })),
  );
  const timer = setTimeout(() => destroy(session), TERMINATE_TIMEOUT_MS);
  const [unit] = await sendAll(session, [[{ text: TERMINATE, values: [JSON.stringify(sought)] }]]);
  clearTimeout(timer);
  const found = unit?.results[0]?.rows;
  if (unit?.error !== undefined || found === undefined) return 'unknown';
  const running = new Set(found.map(([processId, startedAt]) => `${processId} ${startedAt}`));
  return orphans.filter(({ processId, startedAt }) => !running.has(`${processId} ${startedAt}`));
}
