import { fly } from '../connection/pipeline.ts';
import { BACKEND_STARTED, destroy, type Backend, type Session } from '../connection/session.ts';

/** What a session left behind ran when it was given up. */
export interface LostBackend extends Backend {
  /** The statements of its transaction. */
  readonly texts: readonly string[];
}

const LOOK_PATIENCE_MS = 1000;

/**
 * Only what is that very process and still runs one of those statements: whoever else it may serve is let alone. The
 * server cuts the text that it shows.
 */
const TERMINATE = `select a.pid, ${BACKEND_STARTED}, pg_catalog.pg_terminate_backend(a.pid)
from pg_catalog.pg_stat_activity a
join pg_catalog.json_to_recordset($1::pg_catalog.json) l(pid pg_catalog.int4, started pg_catalog.text, text pg_catalog.text)
on l.pid = a.pid and l.started = ${BACKEND_STARTED}
where a.state = 'active' and a.application_name = 'svc-agent' and a.query <> ''
and pg_catalog.left(l.text, pg_catalog.length(a.query)) = a.query`;

/**
 * Over another session, makes the server end what still runs. Returns those of them that are gone: 'unknown' when
 * the server does not say, and then the session is of no more use.
 */
export async function endLost<Lost extends LostBackend>(
  session: Session,
  lost: readonly Lost[],
): Promise<readonly Lost[] | 'unknown'> {
  const sought = lost.flatMap(({ processId, startedAt, texts }) =>
    texts.map((text) => ({ pid: Number(processId), started: startedAt, text })),
  );
  const patience = setTimeout(() => destroy(session), LOOK_PATIENCE_MS);
  const [landing] = await fly(session, [[{ text: TERMINATE, values: [JSON.stringify(sought)] }]]);
  clearTimeout(patience);
  const found = landing?.results[0]?.rows;
  if (landing?.error !== undefined || found === undefined) return 'unknown';
  const running = new Set(found.map(([processId, startedAt]) => `${processId} ${startedAt}`));
  return lost.filter(({ processId, startedAt }) => !running.has(`${processId} ${startedAt}`));
}
